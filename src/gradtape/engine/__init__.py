"""Where arrays are computed: the array module, BLAS and its threads, devices, memory. Imports nothing of gradtape."""
