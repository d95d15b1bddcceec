"""Builds the compiled core where there is a C compiler; everything else is in pyproject.toml.

The modules of `minitorch.compiled.MODULES` are compiled by Cython from the very files that
run interpreted elsewhere.  ``MINITORCH_NO_COMPILE=1`` leaves them alone.
"""

import ast
import os
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

ROOT = Path(__file__).parent


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
        from Cython.Build import cythonize
    except ImportError:
        return []
    found = [
        Extension(
            name, [name.replace(".", "/") + ".py"], optional=True,
            extra_compile_args=[] if os.name == "nt" else ["-O2", "-g0"],
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
    """Compiles the modules side by side: all of them or, where one fails, none."""

    def finalize_options(self):
        super().finalize_options()
        self.parallel = self.parallel or os.cpu_count()

    def run(self):
        super().run()
        names = [self.get_ext_fullpath(e.name) for e in self.extensions]
        if not all(os.path.exists(n) for n in names):
            # Compiled modules share C structures; half of them would not fit the other half.
            for name in names:
                if os.path.exists(name):
                    os.remove(name)

    def copy_extensions_to_source(self):
        built = [e for e in self.extensions if os.path.exists(os.path.join(self.build_lib, self.get_ext_filename(e.name)))]
        if len(built) == len(self.extensions):
            super().copy_extensions_to_source()


setup(ext_modules=extensions(), cmdclass={"build_ext": ParallelBuild})
