"""``torch.nested``: refused. There are no nested tensors; pad, or pack with `nn.utils.rnn`."""

from __future__ import annotations

from typing import Any

__all__ = [
    "as_nested_tensor",
    "masked_select",
    "narrow",
    "nested_tensor",
    "nested_tensor_from_jagged",
    "to_padded_tensor",
]


def _refused(name: str) -> Any:
    def function(*args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError(
            f"nested.{name}: there are no nested tensors here. Pad with nn.utils.rnn.pad_sequence and a mask, or pack with "
            "nn.utils.rnn.pack_sequence"
        )

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"Refuse ``torch.nested.{name}``.\n\nRaises\n------\nNotImplementedError\n    Always.\n"
    return function


as_nested_tensor = _refused("as_nested_tensor")
masked_select = _refused("masked_select")
narrow = _refused("narrow")
nested_tensor = _refused("nested_tensor")
nested_tensor_from_jagged = _refused("nested_tensor_from_jagged")
to_padded_tensor = _refused("to_padded_tensor")
