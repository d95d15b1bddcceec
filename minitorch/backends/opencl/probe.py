"""Tries OpenCL devices, in a process of its own that a driver may abort or hang.

Run as ``python probe.py REPORT PACKAGES LIBRARY SKIP``: a file for the report (a line of JSON for each
event, written at once, so that the last one tells what a dead process was doing), the folder that
PyOpenCL was found in, the driver's library or an empty string, and a JSON list of devices to leave out.
It imports nothing of this package: what it finds must not depend on it.
"""

import ctypes
import json
import os
import sys
import warnings

SOURCE = """
__kernel void probe_vector(__global const float *a, __global const float *b, __global float *out, int n) {
  int i = get_global_id(0);
  if (16 * i + 16 <= n) {
    vstore16(vload16(i, a) * vload16(i, b) + exp(vload16(i, b)), i, out);
  } else {
    for (int j = 16 * i; j < n; j++) out[j] = a[j] * b[j] + exp(b[j]);
  }
}
__kernel void probe_group(__global const int *a, __global long *out, __local int *shared) {
  int l = get_local_id(0), size = get_local_size(0);
  shared[l] = a[get_global_id(0)];
  barrier(CLK_LOCAL_MEM_FENCE);
  long total = 0;
  if (l == 0) {
    for (int j = 0; j < size; j++) total += (long)shared[j] * 1000003;
    out[get_group_id(0)] = total;
  }
}
"""
SOURCE_FP64 = """
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
__kernel void probe_double(__global const double *a, __global double *out) {
  int i = get_global_id(0);
  out[i] = sqrt(a[i]) / 3.0;
}
"""
N = 1003
GROUP = 8


def identity(platform, device):
    """Return what tells a device from others, in this process and any other."""
    return [platform.name, platform.vendor, platform.version, device.name.strip(), device.driver_version]


def try_device(cl, np, device):
    """Return what is wrong with a device; an empty string where its results are right."""
    if not device.available:
        return "the driver says that it is not available"
    if not device.compiler_available:
        return "its driver has no compiler"
    context = cl.Context([device])
    queue = cl.CommandQueue(context)
    fp64 = "cl_khr_fp64" in device.extensions or bool(device.double_fp_config)
    program = cl.Program(context, SOURCE + SOURCE_FP64 * fp64).build()

    def buffer(array):
        memory = cl.Buffer(context, cl.mem_flags.READ_WRITE, array.nbytes)
        cl.enqueue_copy(queue, memory, array)
        return memory

    generator = np.random.RandomState(0)
    a, b = (generator.uniform(-2, 2, N).astype(np.float32) for _ in range(2))
    out = np.zeros(N, np.float32)
    memory = buffer(out)
    program.probe_vector(queue, (-(-N // 16),), None, buffer(a), buffer(b), memory, np.int32(N))
    cl.enqueue_copy(queue, out, memory)
    if not np.allclose(out, a * b + np.exp(b), rtol=1e-5, atol=1e-6):
        return "computes wrong results (float32)"

    group = min(GROUP, device.max_work_group_size)
    whole = np.arange(64 * GROUP, dtype=np.int32) - 77
    sums = np.zeros(whole.size // group, np.int64)
    memory = buffer(sums)
    shared = cl.LocalMemory(4 * group)
    program.probe_group(queue, (whole.size,), (group,), buffer(whole), memory, shared)
    cl.enqueue_copy(queue, sums, memory)
    if not np.array_equal(sums, whole.reshape(-1, group).astype(np.int64).sum(1) * 1000003):
        return "computes wrong results (local memory, int64)"

    if fp64:
        double = generator.uniform(0, 4, 64)
        result = np.zeros(64)
        memory = buffer(result)
        program.probe_double(queue, (64,), None, buffer(double), memory)
        cl.enqueue_copy(queue, result, memory)
        if not np.allclose(result, np.sqrt(double) / 3, rtol=1e-14):
            return "computes wrong results (float64)"
    return ""


def main(report, packages, library, skip):
    def write(**event):
        with open(report, "a") as file:
            file.write(json.dumps(event) + "\n")

    if library:
        write(event="load")
        try:
            ctypes.CDLL(library)
        except OSError as error:
            write(event="failed", reason=f"cannot be loaded: {error}")
            return
    try:
        import pyopencl as cl
    except ImportError:
        sys.path.append(packages)
        import pyopencl as cl
    import numpy as np

    warnings.simplefilter("ignore")
    write(event="platforms", pyopencl=cl.VERSION_TEXT)
    try:
        platforms = cl.get_platforms()
    except cl.Error:  # the loader's word for none
        platforms = []
    seen = []
    for platform in platforms:
        try:
            seen += [(platform, device) for device in platform.get_devices()]
        except cl.Error as error:
            write(event="platform", platform=platform.name, reason=f"lists no devices: {error}")
    write(event="found", platforms=len(platforms), devices=len(seen))
    for platform, device in seen:
        name = identity(platform, device)
        if name in skip:
            continue
        write(event="begin", device=name)
        try:
            reason = try_device(cl, np, device)
        except Exception as error:  # a driver's refusal of any kind is an answer
            lines = [line for line in str(error).splitlines() if line.strip()]
            reason = f"a small kernel failed: {type(error).__name__}: {' '.join(lines[:2])[:300]}"
        write(event="end", device=name, reason=reason)
    write(event="done")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3], json.loads(sys.argv[4]))
    # Drivers that work may still crash while the interpreter tears them down, which nobody needs here.
    os._exit(0)
