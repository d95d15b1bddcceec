"""Finding OpenCL drivers."""

from __future__ import annotations

import os
import sys
import warnings


def prepare():
    if "OCL_ICD_VENDORS" not in os.environ:
        d = "/tmp/icdtest"
        os.makedirs(d, exist_ok=True)
        with open(d + "/intel.icd", "w") as f:
            f.write(os.path.join(sys.prefix, "lib/libintelocl.so") + "\n")
        os.environ["OCL_ICD_VENDORS"] = d


def usable():
    prepare()
    import pyopencl as cl

    warnings.simplefilter("ignore", cl.CompilerWarning)
    want = os.environ.get("MINITORCH_OPENCL_DEVICES", "")
    found = []
    for p in cl.get_platforms():
        for d in p.get_devices():
            if want.lower() in (p.name + d.name).lower() or (want == "pocl" and "Portable" in p.name):
                found.append(d)
    return found
