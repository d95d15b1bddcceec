"""``python -m minitorch.tools doctor``: each piece that a backend lacks is named, and no other."""

from __future__ import annotations

import numpy as np
import pytest
from fresh import in_fresh_process, run_python
from toy_backend import ToyArray, ToyBackend, register_toy

import minitorch
from minitorch.backends import Backend, NoKernel, register_backend

METHODS = ("nbytes", "offset", "strided", "allocate", "from_host", "to_host", "copy_")


def gaps(name: str, state: str | None = None) -> list[str]:
    from minitorch.tools.doctor import examine

    return [finding.piece for finding in examine(name) if (finding.is_gap if state is None else finding.state == state)]


def lacking(method: str) -> Backend:
    """Return a toy backend without one of its methods."""
    namespace = {name: getattr(ToyBackend, name) for name in METHODS if name != method}
    return type("Lacking", (Backend,), {"array_type": ToyArray, **namespace})()


@in_fresh_process
def test_each_method_removed_in_turn_is_named():
    for index, method in enumerate(METHODS):
        name = f"lacks{index}"
        register_backend(name, lacking(method))
        (piece,) = gaps(name)
        assert piece.startswith(f"method {method}(")


@in_fresh_process
def test_each_method_that_does_wrong_is_named():
    class Copies(ToyBackend):
        def strided(self, root, shape, strides, offset, dtype):
            return ToyArray(super().strided(root, shape, strides, offset, dtype)._memory.copy())

    class Counts(ToyBackend):
        def offset(self, root, handle):
            return super().offset(root, handle) // 4

    class Flat(ToyBackend):
        def to_host(self, handle):
            return super().to_host(handle).reshape(-1)

    class Idle(ToyBackend):
        def copy_(self, target, source):
            pass

    class Lends(ToyBackend):
        def from_host(self, array, index):
            return ToyArray(array, index)

    class Small(ToyBackend):
        def nbytes(self, root):
            return 1

    class Floats(ToyBackend):
        def allocate(self, nbytes):
            return ToyArray(np.empty(nbytes, np.float32))

    cases = {Copies: "strided", Counts: "offset", Flat: "to_host", Idle: "copy_", Lends: "from_host", Small: "nbytes"}
    for kind, method in {**cases, Floats: "allocate"}.items():
        name = kind.__name__.lower()
        register_backend(name, kind())
        assert gaps(name)[0].startswith(f"method {method}("), (kind, gaps(name))


@in_fresh_process
def test_other_pieces():
    class Lost(ToyBackend):
        def device_of(self, handle):
            return minitorch.device("lost:1")

    class None_(ToyBackend):
        def device_count(self):
            return 0

        def on_device(self, index):
            raise AssertionError("there is none")

    class Bare(ToyArray):
        nbytes = None

        def __getattribute__(self, name):
            if name == "nbytes":
                raise AttributeError(name)
            return super().__getattribute__(name)

    class NoBytes(ToyBackend):
        def nbytes(self, root):
            return root.size * root.itemsize

        def from_host(self, array, index):
            return Bare(array.copy(), index)

    class Forgetful(ToyBackend):
        def new_generator(self, index):
            return minitorch.Generator()

    for kind, piece in ((Lost, "device of a handle"), (None_, "devices"), (NoBytes, "handles"), (Forgetful, "random numbers")):
        name = kind.__name__.lower()
        register_backend(name, kind())
        assert piece in gaps(name), (piece, gaps(name))


@in_fresh_process
def test_a_whole_backend_has_no_gap_and_its_options_are_listed():
    from minitorch.tools.doctor import examine, text_of

    backend = register_toy()
    assert gaps("toy") == []
    assert {"autocast_dtypes", "share_with_host", "casts"} < set(gaps("toy", "optional"))
    assert "kernels: 5 of 42 everyday operators" in gaps("toy", "optional")

    @backend.kernel("exp")
    def exp(x):
        raise NoKernel("not today")

    assert "kernels: 6 of 42 everyday operators" in gaps("toy", "optional")
    text = text_of("toy", examine("toy"))
    assert text.splitlines()[-1] == "toy: no gaps, 1 kernels of its own under PrivateUse1"
    assert '@backend.kernel("add.Tensor")' in text


@in_fresh_process
def test_kernels_registered_one_by_one():
    lib = minitorch.library.Library("aten", "IMPL", "PrivateUse1")
    lib.impl("view", lambda x, size: x)
    found = gaps("privateuseone")
    assert "kernel view" not in found
    assert {"memory", "kernel copy_", "kernel empty_strided", "CPU fallback", "device module", "methods"} <= set(found)


@pytest.mark.parametrize(
    ("arguments", "status", "text"),
    [
        ("toy --import toy_backend:register_toy", 0, "toy: no gaps"),
        ("nothing", 1, "write: register_backend('nothing', MyBackend())"),
        ("cuda", 1, "there is no backend for the device 'cuda'"),
        ("cpu", 0, "cpu: no gaps"),
    ],
)
def test_the_command(arguments, status, text):
    done = run_python(f"import sys; from minitorch.tools.__main__ import main; sys.exit(main(['doctor', *{arguments.split()}]))")
    assert done.returncode == status, done.stderr
    assert text in done.stdout
