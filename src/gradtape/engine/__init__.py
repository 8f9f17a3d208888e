"""Where arrays are computed: the array module, BLAS and its threads, devices, memory, counts. Imports nothing of gradtape."""
