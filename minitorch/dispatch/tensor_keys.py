"""The key sets that tensors carry, by what kind of tensor they are (spec R11, R12).

A backend takes the key sets of its tensors from here, and so does whoever wraps tensors:
what a kind of tensor takes part in is written down once.
"""

from __future__ import annotations

from minitorch.dispatch.keys import (
    AD_INPLACE_OR_VIEW,
    AUTOGRAD,
    AUTOGRAD_KEYS,
    AUTOGRAD_NESTED,
    AUTOGRAD_OTHER,
    BACKENDS,
    CONJUGATE,
    FUNCTIONALIZE,
    FUNCTORCH_KEYS,
    NEGATIVE,
    PER_BACKEND,
    PYTHON_KEYS,
    ZERO_TENSOR,
    DispatchKey,
    functionality_bit,
    parse_key,
)

# Layouts that are functionalities of their own, without a backend.
_OWN_LAYOUTS = ("FPGA", "Vulkan", "Metal", "CustomRNGKeyId", "MkldnnCPU")


def tensor_keys(functionality: str, backend: str | None = None) -> int:
    """Return the key set of a fresh tensor.

    Parameters
    ----------
    functionality : str
        ``"Dense"``, ``"Sparse"``, ``"SparseCsr"``, ``"Quantized"`` or ``"NestedTensor"``; or a layout
        that is a key of its own, such as ``"MkldnnCPU"``.
    backend : str, optional
        ``"CPU"``; None for a layout that is a key of its own.

    Returns
    -------
    int
        Its layout with its backend, ADInplaceOrView, the autograd key of the backend (AutogradOther
        where there is no backend), and the autocast key of the backend if there is one.

    Raises
    ------
    ValueError
        If no tensor is of this kind.

    Examples
    --------
    >>> from minitorch.dispatch.keys import key_set_text
    >>> key_set_text(tensor_keys("Sparse", "CPU"))
    'DispatchKeySet(SparseCPU, ADInplaceOrView, AutogradCPU, AutocastCPU)'
    """
    if backend is None:
        if functionality not in _OWN_LAYOUTS:
            raise ValueError(f"tensor_keys: a {functionality} tensor has a backend; name it, as in 'CPU'")
        return functionality_bit(functionality) | AD_INPLACE_OR_VIEW | AUTOGRAD_OTHER
    if functionality not in PER_BACKEND or functionality == "AutogradFunctionality" or backend not in BACKENDS:
        raise ValueError(f"tensor_keys: no tensor is a {functionality} tensor of the backend {backend}")
    keys = parse_key(PER_BACKEND[functionality] + backend).bits | AD_INPLACE_OR_VIEW | AUTOGRAD
    if functionality == "NestedTensor":
        keys |= AUTOGRAD_NESTED
    autocast = DispatchKey.by_name.get(f"Autocast{backend}")
    return keys if autocast is None else keys | autocast.bits


def inference_keys(keys: int) -> int:
    """Return the key set of the same tensor, made in inference mode: without history and versions."""
    return keys & ~(AD_INPLACE_OR_VIEW | AUTOGRAD_KEYS)


def python_keys(keys: int) -> int:
    """Return the key set of an instance of a class that defines ``__torch_dispatch__``."""
    return keys | PYTHON_KEYS


def functional_wrapper_keys(keys: int) -> int:
    """Return the key set of a functional wrapper around a tensor of key set `keys`.

    The wrapper is what transforms and handlers see first; what is inside is theirs again when
    it is unwrapped, so their keys stay inside.  So do lazy conjugation, negation and zeros: the
    wrapper has no memory to be read in another way.
    """
    return (keys & ~(PYTHON_KEYS | FUNCTORCH_KEYS | CONJUGATE | NEGATIVE | ZERO_TENSOR)) | FUNCTIONALIZE
