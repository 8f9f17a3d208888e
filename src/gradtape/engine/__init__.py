"""Where arrays are computed: the array module, BLAS and its threads, devices, memory, reference counts.

Imports nothing of gradtape.
"""
