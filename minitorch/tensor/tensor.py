"""`Tensor`: the public class.  Operators are attached to it from the table (`ops.assemble`)."""

from __future__ import annotations

from typing import Any

import numpy as np

from minitorch.core.device import device as device_class
from minitorch.core.dtype import DTYPES
from minitorch.core.dtype import dtype as dtype_class
from minitorch.core.layout import sparse_coo, strided
from minitorch.core.memory_format import channels_last, channels_last_3d, contiguous_format, format_strides
from minitorch.core.meta_array import is_contiguous
from minitorch.dispatch.keys import AD_INPLACE_OR_VIEW, CONJUGATE, NEGATIVE, PYTHON, ZERO_TENSOR, functionality_bit
from minitorch.dispatch.transforms import inside_transforms
from minitorch.tensor import exchange, indexing, memory, subclass
from minitorch.tensor.base import TensorBase, VersionCounter, bare_copy, set_classes
from minitorch.tensor.components import tensor_of
from minitorch.tensor.operators import F
from minitorch.tensor.subclass import class_keys
from minitorch.tensor.wrapper import WrapperHandle, host_array

QUANTIZED = functionality_bit("Quantized")
SPARSE = functionality_bit("Sparse") | functionality_bit("SparseCsr")

class Tensor(TensorBase):
    """A multi-dimensional array of one dtype on one device, with an optional history for gradients.

    Make one with `minitorch.tensor`, a factory such as `minitorch.zeros`, or `from_numpy`.

    Examples
    --------
    >>> x = minitorch.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    >>> (x * x).sum().backward()
    >>> x.grad
    tensor([[2., 4.],
            [6., 8.]])
    """

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        if not args and not kwargs:
            self = TensorBase.__new__(cls)
            if cls is Tensor:
                return self
            empty = _legacy_new(())
            self.handle, self.key_set = empty.handle, class_keys(cls, empty.key_set)
            return self
        source = _legacy_new(args)
        if cls is Tensor:
            return source
        self = TensorBase.__new__(cls)
        self.handle, self.key_set = source.handle, class_keys(cls, source.key_set)
        self.storage_cell, self.version_counter = source.storage_cell, source.version_counter
        return self

    # Whether an instance of a subclass is known by its handle, and no attribute has to be carried along (`base.bare_copy`).
    _handle_is_all = False

    # -- facts -------------------------------------------------------------------

    @property
    def requires_grad(self) -> bool:
        """Whether operations on it are recorded for backward."""
        if self.requires_grad_flag:
            return True
        info = self.view_info
        return info is not None and info.base.requires_grad_flag and self.handle.dtype.kind not in "biu"

    @requires_grad.setter
    def requires_grad(self, value: bool) -> None:
        self.requires_grad_(value)

    def requires_grad_(self, requires_grad: bool = True) -> Tensor:
        """Ask for a gradient (or no longer), and return the tensor itself.

        Raises
        ------
        RuntimeError
            If its dtype is neither floating nor complex, or it is no leaf and gradients are refused.
        """
        if inside_transforms():
            raise RuntimeError(
                "You are attempting to call Tensor.requires_grad_() (or perhaps using autograd.functional APIs) inside of a "
                "function being transformed by a functorch transform. This is unsupported: use the transforms of "
                "minitorch.func (grad, vjp, jacrev, jacfwd, hessian), or call requires_grad_() outside of the function."
            )
        return self._set_requires_grad(requires_grad)

    def _set_requires_grad(self, requires_grad: bool = True) -> Tensor:
        """Do what `requires_grad_` does; also inside of transforms, for new tensors."""
        if requires_grad and not (self.dtype.is_floating_point or self.dtype.is_complex):
            raise RuntimeError("only Tensors of floating point and complex dtype can require gradients")
        if not requires_grad and self.node is not None:
            raise RuntimeError(
                "you can only change requires_grad flags of leaf variables. If you want to use a computed variable in a "
                "subgraph that doesn't require differentiation use var_no_grad = var.detach()."
            )
        if requires_grad and not self.key_set & AD_INPLACE_OR_VIEW:
            from minitorch.dispatch.local_state import current

            if not current().inference_mode:
                raise RuntimeError(
                    "Setting requires_grad=True on inference tensor outside InferenceMode is not allowed."
                )
        self.requires_grad_flag = bool(requires_grad)
        self.tracked = True
        return self

    @property
    def grad(self) -> Tensor | None:
        """The gradient accumulated by `backward`, None before."""
        return self.grad_slot

    @grad.setter
    def grad(self, value: Tensor | None) -> None:
        if value is not None:
            if not isinstance(value, TensorBase):
                raise TypeError(f"assigned grad expected to be a Tensor or None but got grad of type {type(value)}")
            if value is self:
                raise RuntimeError("can't assign Variable as its own grad")
            if value.shape != self.shape:
                raise RuntimeError(
                    f"assigned grad has data of a different size: grad has {list(value.shape)}, the tensor "
                    f"{list(self.shape)}"
                )
            if value.dtype is not self.dtype:
                raise RuntimeError(
                    f"assigned grad has data of a different type: grad is {value.dtype}, the tensor {self.dtype}"
                )
            if value.layout is not self.layout and not _is_layout_of_gradient(value.layout, self.layout):
                raise RuntimeError(
                    f"assigned grad has data of a different type: grad has layout {value.layout}, the tensor {self.layout}. "
                    "Convert it with to_sparse(layout=...) or to_dense() first."
                )
            if value.device is not self.device:
                raise RuntimeError(
                    f"assigned grad has data located on a different device: grad is on {value.device}, the tensor on "
                    f"{self.device}"
                )
        self.grad_slot = value

    @grad.deleter
    def grad(self) -> None:
        self.grad_slot = None

    @property
    def data(self) -> Tensor:
        """The same memory without history and with a version counter of its own."""
        if self.key_set & PYTHON and not self._handle_is_all:
            return self.detach()
        result = bare_copy(self)
        result.storage_cell = self.storage_of()
        if self.key_set & AD_INPLACE_OR_VIEW:
            result.version_counter = VersionCounter()
        return result

    @data.setter
    def data(self, value: Tensor) -> None:
        if not isinstance(value, TensorBase):
            raise TypeError(f"Variable data has to be a tensor, but got {type(value).__name__}")
        self.storage_cell = value.storage_of()
        if self.version_counter is None and self.key_set & AD_INPLACE_OR_VIEW:
            self.version_counter = VersionCounter()
        self.handle = value.handle
        self.key_set = class_keys(type(self), value.key_set)
        self.shape_cache = None

    @property
    def _base(self) -> Any:
        """The tensor that this is a view of; None if it is no view."""
        return self.view_info.base if self.view_info is not None else None

    def _is_view(self) -> bool:
        return self.view_info is not None

    @property
    def itemsize(self) -> int:
        return self.handle.itemsize

    @property
    def nbytes(self) -> int:
        if self.key_set & SPARSE and self.layout is sparse_coo:
            raise RuntimeError(
                f"nbytes is not defined for {self.layout} tensors: add those of the indices and of the values, or multiply "
                "numel() by element_size() for the size of a dense tensor"
            )
        return self.handle.size * self.handle.itemsize

    nelement = TensorBase.numel
    ndimension = TensorBase.dim

    def storage_offset(self) -> int:
        """Return where its first element stands in its storage, in elements."""
        return memory.storage_offset(self)

    def data_ptr(self) -> int:
        """Return the address of the first element."""
        return memory.memory_of(self).address(self.handle)

    def untyped_storage(self) -> Any:
        """Return the memory that it shares with its views."""
        from minitorch.tensor.storage import UntypedStorage

        return UntypedStorage(self)

    def set_(self, source: Any = None, storage_offset: int = 0, size: Any = None, stride: Any = None) -> Tensor:
        """Show the memory of another tensor or storage from now on, and return the tensor itself.

        Parameters
        ----------
        source : Tensor or UntypedStorage, optional
            Of a tensor, also the shape; nothing gives an empty tensor.
        storage_offset : int
        size, stride : sequence of int, optional
            In elements; row-major where `stride` is missing, and the whole storage where both are.
        """
        from minitorch.tensor.storage import set_storage

        return set_storage(self, source, storage_offset, size, stride)

    def is_contiguous(self, memory_format: Any = contiguous_format) -> bool:
        """Return whether elements lie in memory in the order of `memory_format`, without gaps."""
        if self.key_set & PYTHON and isinstance(self.handle, subclass.AskingArray):
            answer = self.handle.is_contiguous(memory_format)
            if answer is not None:
                return answer
        if self.key_set & SPARSE and self.layout is sparse_coo:
            return False  # as in PyTorch
        if memory_format is contiguous_format:
            return is_contiguous(self.handle)
        rank = {channels_last: 4, channels_last_3d: 5}.get(memory_format)
        if rank is not None and self.handle.ndim != rank:
            return False
        wanted = format_strides(tuple(self.handle.shape), self.handle.itemsize, memory_format)
        return all(
            n == 1 or a == b for n, a, b in zip(self.handle.shape, self.handle.strides, wanted, strict=True)
        )

    def is_floating_point(self) -> bool:
        return self.dtype.is_floating_point

    def is_complex(self) -> bool:
        return self.dtype.is_complex

    def is_signed(self) -> bool:
        return self.dtype.is_signed

    def is_conj(self) -> bool:
        """Return whether it is a view whose memory holds the conjugates of its elements; `resolve_conj` makes a copy."""
        return self._has_bit(CONJUGATE)

    def is_neg(self) -> bool:
        """Return whether it is a view whose memory holds the negatives of its elements; `resolve_neg` makes a copy."""
        return self._has_bit(NEGATIVE)

    def _is_zerotensor(self) -> bool:
        """Return whether it consists of zeros and has no memory; `clone` makes an ordinary tensor."""
        return self._has_bit(ZERO_TENSOR)

    def _has_bit(self, bit: int) -> bool:
        """Return whether a tensor, or the one inside of its wrappers, has a key that says how memory is read."""
        tensor: Any = self
        while isinstance(tensor.handle, WrapperHandle):
            tensor = tensor.handle.value
        return bool(tensor.key_set & bit)

    def is_same_size(self, other: Tensor) -> bool:
        return self.shape == other.shape

    def is_set_to(self, other: Tensor) -> bool:
        """Return whether both show the same memory in the same way."""
        return (
            self.storage_of() is other.storage_of()
            and self.shape == other.shape
            and self.stride() == other.stride()
            and self.storage_offset() == other.storage_offset()
            and (self.is_conj(), self.is_neg()) == (other.is_conj(), other.is_neg())
        )

    def get_device(self) -> int:
        """Return the number of its device, -1 on the CPU."""
        index = self.device.index
        return -1 if index is None else index

    @property
    def is_cpu(self) -> bool:
        return self.device.type == "cpu"

    @property
    def is_cuda(self) -> bool:
        return self.device.type == "cuda"

    @property
    def is_meta(self) -> bool:
        return self.device.type == "meta"

    @property
    def is_sparse(self) -> bool:
        """Whether its layout is that of coordinates, ``sparse_coo``."""
        return self.layout is sparse_coo

    @property
    def is_quantized(self) -> bool:
        """Whether its elements are integers with a scale."""
        return bool(self.key_set & QUANTIZED)

    def is_pinned(self) -> bool:
        """Return whether it is in memory of the host that a CUDA device reads by itself."""
        if self.key_set & SPARSE:
            return all(part.is_pinned() for part in self.handle.components())
        return "cuda" in exchange.EXCHANGES and exchange.EXCHANGES["cuda"].is_pinned(self)

    def pin_memory(self, device: Any = None) -> Tensor:
        """Return its elements in pinned memory, from which ``to("cuda", non_blocking=True)`` does not wait."""
        if self.key_set & SPARSE:
            return tensor_of(self.handle.with_components(tuple([part.pin_memory() for part in self.handle.components()])))
        reads_alike = self.key_set & (CONJUGATE | NEGATIVE | ZERO_TENSOR) == 0
        return exchange.of_cuda().pin(self if reads_alike else F.clone(self))

    def is_shared(self) -> bool:
        return False

    @property
    def __cuda_array_interface__(self) -> dict:
        if self.device.type != "cuda":
            raise AttributeError(
                f"Can't get __cuda_array_interface__ on non-CUDA tensor type: {self.type()}. Use tensor.cuda() to copy it there."
            )
        if self.key_set & (CONJUGATE | NEGATIVE):
            raise RuntimeError(
                "Can't get __cuda_array_interface__ on a conjugate or negative view: its memory is not what it reads as. Use "
                "tensor.resolve_conj().resolve_neg()."
            )
        if self.requires_grad:
            raise RuntimeError("Can't get __cuda_array_interface__ on Variable that requires grad. Use tensor.detach() first.")
        return self.handle.__cuda_array_interface__

    def type(self, dtype: Any = None) -> Any:
        """Return the name of its type (``"torch.FloatTensor"``), or the tensor cast to `dtype`."""
        if dtype is None and self.key_set & SPARSE:
            if self.layout is not sparse_coo:
                raise RuntimeError(f"type(): there is no name for tensors of layout {self.layout}; ask dtype and layout")
            prefix = "torch.sparse." if self.device.type == "cpu" else f"torch.{self.device.type}.sparse."
            return f"{prefix}{self.dtype.scalar_name}Tensor"
        if dtype is None:
            prefix = "torch." if self.device.type == "cpu" else f"torch.{self.device.type}."
            return f"{prefix}{self.dtype.scalar_name}Tensor"
        if isinstance(dtype, str):
            word = dtype.rsplit(".", 1)[-1].removesuffix("Tensor")
            dtype = next((d for d in DTYPES.values() if d.scalar_name == word), None)
        return self.to(dtype)

    # -- transposes --------------------------------------------------------------

    @property
    def T(self) -> Tensor:
        """Its dimensions in reverse order."""
        return F.permute(self, list(range(self.ndim - 1, -1, -1)))

    @property
    def mT(self) -> Tensor:
        """The last two dimensions swapped."""
        if self.ndim == 0:
            return self
        if self.ndim == 1:
            raise RuntimeError("tensor.mT is only supported on matrices or batches of matrices. Got 1-D tensor.")
        return F.transpose(self, -2, -1)

    @property
    def H(self) -> Tensor:
        """A matrix's conjugate transpose."""
        if self.ndim not in (0, 2):
            raise RuntimeError(
                f"tensor.H is only supported on matrices (2-D tensors). Got {self.ndim}-D tensor. For batches of "
                "matrices, consider using tensor.mH"
            )
        return F.adjoint(self)

    @property
    def mH(self) -> Tensor:
        """The conjugate transpose of the last two dimensions."""
        return F.adjoint(self)

    @property
    def real(self) -> Tensor:
        return F.real(self)

    @real.setter
    def real(self, value: Any) -> None:
        F.real(self).copy_(value)

    @property
    def imag(self) -> Tensor:
        return F.imag(self)

    @imag.setter
    def imag(self, value: Any) -> None:
        F.imag(self).copy_(value)

    # -- to Python and NumPy -------------------------------------------------------

    def tolist(self) -> Any:
        """Return its elements as nested lists of Python numbers; a number for a 0-dim tensor."""
        self._refuse_subclass("tolist")
        handle = host_array(self)
        return (handle.astype(np.float32) if handle.dtype.kind == "V" else handle).tolist()

    def numpy(self, *, force: bool = False) -> np.ndarray:
        """Return its memory as a NumPy array, without a copy.

        Raises
        ------
        RuntimeError
            If it requires grad, or (TypeError) is not in memory that the CPU sees; ``force=True`` detaches and copies.
        """
        self._refuse_subclass("numpy")
        if self.key_set & SPARSE:
            raise TypeError(f"can't convert {self.layout} layout tensor to numpy. Use Tensor.to_dense() first.")
        if force:
            return host_array(self)
        if self.requires_grad:
            raise RuntimeError("Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead.")
        if self.key_set & ZERO_TENSOR:
            raise RuntimeError("Cannot convert a ZeroTensor to numpy: it has no memory. Set force=True if you need the zeros.")
        if self.key_set & (CONJUGATE | NEGATIVE):
            what, method = ("conjugate", "conj") if self.is_conj() else ("negative", "neg")
            raise RuntimeError(
                f"Can't call numpy() on Tensor that has {what} bit set: its memory is not what it reads as. Use "
                f"tensor.resolve_{method}().numpy() instead."
            )
        if self.device.type != "cpu":
            shared = memory.memory_of(self).share_with_host(self.handle)
            if shared is not None:
                return shared
            raise TypeError(
                f"can't convert {self.device} device type tensor to numpy. Use Tensor.cpu() to copy the tensor to host "
                "memory first."
            )
        handle = self.handle
        if isinstance(handle, WrapperHandle):
            return host_array(self)
        if not handle.flags.writeable:  # of a view that overlaps itself (binding, Note [Memory that overlaps itself])
            writable = memory.memory_of(self).writable(self.storage_of().root, handle)
            return handle if writable is None else writable
        return handle

    def _refuse_subclass(self, method: str) -> None:
        if self.key_set & PYTHON and subclass.is_wrapper_subclass(self):
            raise RuntimeError(
                f".{method}() is not supported for tensor subclasses, got {type(self).__name__}: it has no memory of its own. "
                "Call it on what the wrapper holds."
            )

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        array = self.numpy()
        if dtype is not None and array.dtype != dtype:
            return array.astype(dtype)
        return array.copy() if copy else array

    def _refuse_export(self) -> None:
        """Raise BufferError where its memory is not what it reads as, or has a history."""
        if self.key_set & SPARSE:
            raise BufferError(
                f"Can't export tensors with layout other than torch.strided, and this one is {self.layout}: export its indices "
                "and values, or use tensor.to_dense()"
            )
        if self.requires_grad:
            raise BufferError("Can't export tensors that require gradient, use tensor.detach()")
        if self.key_set & ZERO_TENSOR:
            raise BufferError("Can't export a ZeroTensor: it has no memory; use tensor.clone()")
        if self.key_set & (CONJUGATE | NEGATIVE):
            what, method = ("conjugate", "conj") if self.is_conj() else ("negative", "neg")
            raise BufferError(f"Can't export tensors with the {what} bit set; use tensor.resolve_{method}() first")

    def __dlpack__(
        self, *, stream: Any = None, max_version: Any = None, dl_device: Any = None, copy: bool | None = None
    ) -> Any:
        self._refuse_export()
        handle = self.numpy() if self.device.type == "cpu" else self.handle
        if not hasattr(handle, "__dlpack__"):
            raise BufferError(f"a tensor on {self.device} cannot be exported by DLPack; copy it with Tensor.cpu()")
        # An exporter may know just the first of these: pass on what is asked for.
        asked = {"stream": stream, "max_version": max_version, "dl_device": dl_device, "copy": copy}
        return handle.__dlpack__(**{name: value for name, value in asked.items() if value is not None})

    def __dlpack_device__(self) -> tuple:
        handle = self.handle
        if self.key_set & SPARSE:
            return handle.components()[-1].__dlpack_device__()
        if not hasattr(handle, "__dlpack_device__"):
            raise ValueError(f"a tensor on {self.device} cannot be exported by DLPack; copy it with Tensor.cpu()")
        return handle.__dlpack_device__()

    # Before ndarray: ``ndarray + tensor`` asks the tensor.
    __array_priority__ = 1000

    def __bool__(self) -> bool:
        handle = self.handle
        if handle.size != 1:
            count = "no values" if handle.size == 0 else "more than one value"
            raise RuntimeError(f"Boolean value of Tensor with {count} is ambiguous")
        return bool(self.item())

    def __float__(self) -> float:
        return float(self.item())

    def __int__(self) -> int:
        return int(self.item())

    def __complex__(self) -> complex:
        return complex(self.item())

    def __index__(self) -> int:
        if self.handle.size != 1 or self.handle.dtype.kind not in "iub":
            raise TypeError("only integer tensors of a single element can be converted to an index")
        return int(self.item())

    def __contains__(self, element: Any) -> bool:
        if isinstance(element, (Tensor, bool, int, float, complex)):
            return bool((self == element).any().item())
        raise RuntimeError(
            f"Tensor.__contains__ only supports Tensor or scalar, but you passed in a {type(element)}."
        )

    def __iter__(self) -> Any:
        if self.ndim == 0:
            raise TypeError("iteration over a 0-d tensor")
        return iter(self.unbind(0))

    def __reversed__(self) -> Tensor:
        return self if self.ndim == 0 else F.flip(self, [0])

    def __setitem__(self, index: Any, value: Any) -> None:
        indexing.setitem(self, index, value)

    def __delitem__(self, index: Any) -> None:
        raise TypeError("Tensor does not support deleting items")

    def __repr__(self, *, tensor_contents: Any = None) -> str:
        from minitorch.tensor.printing import tensor_text, wrapper_text

        return wrapper_text(self) if isinstance(self.handle, WrapperHandle) else tensor_text(self)

    def __format__(self, spec: str) -> str:
        if self.ndim == 0 and not self.is_meta and type(self) is Tensor:
            return self.item().__format__(spec)
        return object.__format__(self, spec)

    def __dir__(self) -> list[str]:
        return sorted(set(object.__dir__(self)))

    # -- casts and moves -----------------------------------------------------------

    def cpu(self, memory_format: Any = None) -> Tensor:
        return self.to(device_class("cpu"))

    def cuda(self, device: Any = None, non_blocking: bool = False, memory_format: Any = None) -> Tensor:
        return self.to(device_class("cuda") if device is None else device_class(device))

    def new_tensor(self, data: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Tensor:
        """Return a tensor of `data` with this one's dtype and device unless others are given."""
        from minitorch.tensor.creation import tensor

        return tensor(data, dtype=dtype or self.dtype, device=device or self.device, requires_grad=requires_grad)

    def __deepcopy__(self, memo: dict) -> Any:
        from minitorch.tensor.copying import deepcopy_tensor

        return deepcopy_tensor(self, memo)

    def __reduce_ex__(self, protocol: Any) -> Any:
        from minitorch.tensor.copying import reduce_tensor

        return reduce_tensor(self)

    def as_subclass(self, cls: Any) -> Any:
        """Return the same memory and history as an instance of `cls`."""
        result = TensorBase.__new__(cls)
        alias = F.alias(self)
        result.handle, result.key_set = alias.handle, class_keys(cls, alias.key_set)
        result.storage_cell, result.version_counter = alias.storage_cell, alias.version_counter
        result.node, result.output_nr = alias.node, alias.output_nr
        result.requires_grad_flag = alias.requires_grad_flag
        result.tracked = True
        return result

    _make_subclass = staticmethod(subclass.make_subclass)
    _make_wrapper_subclass = staticmethod(subclass.make_wrapper_subclass)


def _is_layout_of_gradient(layout: Any, own: Any) -> bool:
    """Return whether a gradient of one layout may belong to a tensor of another one."""
    return layout is sparse_coo or (own not in (strided, sparse_coo) and layout is not strided)


def _legacy_new(args: tuple) -> Any:
    """Do what ``Tensor(...)`` does: sizes give uninitialised memory, a sequence its values."""
    from minitorch.core.dtype import get_default_dtype
    from minitorch.tensor.creation import tensor

    if len(args) == 1 and isinstance(args[0], TensorBase):
        return F.alias(args[0])
    if len(args) == 1 and not isinstance(args[0], int):
        return tensor(args[0], dtype=get_default_dtype())
    return F.empty(list(args))


def _make_cast(name: str, dtype: dtype_class) -> Any:
    def cast(self: Tensor, memory_format: Any = None) -> Tensor:
        if memory_format is None:
            return self.to(dtype)
        return self.to(dtype, memory_format=memory_format)

    cast.__name__ = cast.__qualname__ = name
    cast.__doc__ = f"Return the tensor cast to {dtype.name}, itself if it is that already."
    return cast


for _name, _dtype in (
    ("float", "float32"), ("double", "float64"), ("half", "float16"), ("bfloat16", "bfloat16"), ("long", "int64"),
    ("int", "int32"), ("short", "int16"), ("char", "int8"), ("byte", "uint8"), ("bool", "bool"),
    ("cfloat", "complex64"), ("cdouble", "complex128"),
):
    setattr(Tensor, _name, _make_cast(_name, DTYPES[_dtype]))


set_classes(tensor_class=Tensor)
