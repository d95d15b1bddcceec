"""Builds the compiled core where there is a C compiler; everything else is in pyproject.toml.

The modules of `minitorch.compiled.MODULES` are compiled by Cython from the very files that
run interpreted elsewhere.  ``MINITORCH_NO_COMPILE=1`` leaves them alone.
"""

import ast
import os
import platform
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

ROOT = Path(__file__).parent

# Loops over arrays are vectorized.  Sums may be reordered; NaN, infinity and subnormals keep their meaning.
VECTORIZED = ("minitorch.backends.cpu.loops",)
VECTORIZE = ["-O3", "-fno-math-errno", "-fno-trapping-math", "-fno-signed-zeros", "-fassociative-math"]


def flags(name):
    """Return the C compiler's flags for a module."""
    if os.name == "nt":
        return []
    if name.startswith("minitorch.backends.cpu.small."):
        return ["-O3", "-fno-math-errno", "-fno-trapping-math", "-g0"]
    if name not in VECTORIZED:
        return ["-O2", "-g0"]
    # Where the processor lacks AVX2 the module is not imported (minitorch/backends/cpu/fast/table.py).
    x86 = platform.machine().lower() in ("x86_64", "amd64")
    return [*VECTORIZE, "-g0", *(["-mavx2", "-mfma"] if x86 else [])]


def modules():
    """Return the names of the modules to compile, without importing the package."""
    tree = ast.parse((ROOT / "minitorch" / "compiled.py").read_text())
    for node in tree.body:
        if isinstance(node, ast.Assign) and node.targets[0].id == "MODULES":
            return ast.literal_eval(node.value)
    raise LookupError("minitorch/compiled.py has no MODULES")


def extensions():
    """Return the extensions, none where Cython is missing."""
    if os.environ.get("MINITORCH_NO_COMPILE", "0") not in ("", "0"):
        return []
    try:
        import numpy
        from Cython.Build import cythonize
    except ImportError:
        return []
    found = [
        Extension(
            name, [name.replace(".", "/") + ".py"],
            include_dirs=[numpy.get_include()],
            extra_compile_args=flags(name),
        )
        for name in modules()
    ]
    return cythonize(
        found,
        build_dir="build/cython",
        nthreads=os.cpu_count() or 1,
        compiler_directives={
            "language_level": 3,
            "binding": True,
            "boundscheck": False,
            "initializedcheck": False,
            "infer_types": False,
            "annotation_typing": True,
        },
    )


class ParallelBuild(build_ext):
    """Compiles the modules side by side: all of them or, where one fails, none.

    Compiled modules share C structures, so half of them would not fit the other half; and
    without any the same files run interpreted.
    """

    def finalize_options(self):
        super().finalize_options()
        self.parallel = self.parallel or os.cpu_count()

    def build_extensions(self):
        try:
            super().build_extensions()
        except Exception as error:  # no compiler, no headers, a full disk: each is reason to run interpreted
            print(f"minitorch: the core was not compiled and will run interpreted ({error})")
            self.remove_all()
            self.extensions = []

    def remove_all(self):
        """Remove what was built, now or by an earlier build."""
        for extension in self.extensions:
            name = self.get_ext_filename(extension.name)
            for path in (self.get_ext_fullpath(extension.name), Path(self.build_lib) / name, ROOT / name):
                Path(path).unlink(missing_ok=True)


setup(ext_modules=extensions(), cmdclass={"build_ext": ParallelBuild})
