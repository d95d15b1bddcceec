"""The ``opencl`` device: any OpenCL driver, through PyOpenCL."""
