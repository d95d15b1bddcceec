"""`minitorch.summary`: what a model consists of, without running it: shapes, parameters, operations, memory."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

import minitorch
from minitorch.autograd.graph import saved_tensors_hooks
from minitorch.core.pytree import tree_map
from minitorch.fake.fake_tensor import FakeTensor
from minitorch.fake.mode import FakeTensorMode
from minitorch.functorch.module_state import functional_call
from minitorch.modes.dispatch_mode import TorchDispatchMode
from minitorch.nn.modules.lazy import is_lazy
from minitorch.nn.modules.module import Module
from minitorch.tensor.base import TensorBase
from minitorch.utils.debug.values import tensors_in
from minitorch.utils.flop_counter import flop_registry

__all__ = ["LayerRow", "ModelSummary", "summary"]

_COLUMNS = ("Layer", "Input Shape", "Output Shape", "Param #", "FLOPs", "Saved")


class LayerRow:
    """One call of a module.

    Attributes
    ----------
    name : str
        Its place in the model, ``""`` for the model itself.
    kind : str
        Its class.
    depth : int
    input_shapes, output_shapes : list of list of int
        Of the tensors among its arguments and results.
    parameters : int
        Of the module itself, without those inside; 0 where `is_repeated`.
    flops : int
        Of the call with the modules inside.
    saved_bytes : int
        What autograd keeps of the call, with the modules inside, until backward has run; parameters and buffers are
        not counted, and memory that was kept before is not again.
    is_repeated : bool
        Whether the module was called before.
    """

    def __init__(self, name: str, kind: str, depth: int, input_shapes: list, parameters: int, is_repeated: bool):
        self.name = name
        self.kind = kind
        self.depth = depth
        self.input_shapes = input_shapes
        self.output_shapes: list = []
        self.parameters = parameters
        self.flops = 0
        self.saved_bytes = 0
        self.is_repeated = is_repeated

    def __repr__(self) -> str:
        return f"<LayerRow {self.name or 'model'} ({self.kind}): {self.input_shapes} -> {self.output_shapes}>"


class ModelSummary:
    """What `summary` found; as text, a table.

    Attributes
    ----------
    rows : list of LayerRow
        Calls of modules in their order, the model's own first.
    total_params, trainable_params : int
        Numbers of elements; a parameter that several modules share counts once.
    param_bytes, buffer_bytes, input_bytes : int
    total_flops : int
        Of one forward pass; a multiplication and an addition count as two.
    saved_bytes : int
        What autograd keeps until backward has run, beside parameters and buffers: the memory of activations in training.
    """

    def __init__(self, model: Module, rows: list[LayerRow], input_bytes: int, depth: int):
        parameters = list(model.parameters())
        self.rows = rows
        self.depth = depth
        self.total_params = sum(p.numel() for p in parameters)
        self.trainable_params = sum(p.numel() for p in parameters if p.requires_grad)
        self.param_bytes = sum(p.nbytes for p in parameters)
        self.buffer_bytes = sum(b.nbytes for b in model.buffers())
        self.input_bytes = input_bytes
        self.total_flops = rows[0].flops if rows else 0
        self.saved_bytes = rows[0].saved_bytes if rows else 0

    def table(self, depth: int | None = None) -> str:
        """Return the rows down to a depth, and the totals; a row at the last depth has the parameters inside of it too."""
        depth = self.depth if depth is None else depth
        cells: list[list[str]] = [list(_COLUMNS)]
        for place, row in enumerate(self.rows):
            if row.depth > depth:
                continue
            parameters = row.parameters
            if row.depth == depth:
                for inner in self.rows[place + 1 :]:
                    if inner.depth <= row.depth:
                        break
                    parameters += inner.parameters
            name = f"{'  ' * row.depth}{row.name.rpartition('.')[2] + ': ' if row.name else ''}{row.kind}"
            cells.append(
                [
                    name,
                    _shapes_text(row.input_shapes),
                    _shapes_text(row.output_shapes),
                    "(again)" if row.is_repeated else f"{parameters:,}" if parameters else "--",
                    f"{row.flops:,}" if row.flops else "--",
                    bytes_text(row.saved_bytes) if row.saved_bytes else "--",
                ]
            )
        widths = [max(len(line[i]) for line in cells) for i in range(len(_COLUMNS))]
        lines = [
            "  ".join(
                f"{text:<{w}}" if i < 3 else f"{text:>{w}}"
                for i, (text, w) in enumerate(zip(line, widths, strict=True))
            )
            for line in cells
        ]
        rule = "=" * len(lines[0])
        totals = [
            f"Total params: {self.total_params:,}",
            f"Trainable params: {self.trainable_params:,}",
            f"Non-trainable params: {self.total_params - self.trainable_params:,}",
            f"Total FLOPs: {self.total_flops:,}",
            f"Input: {bytes_text(self.input_bytes)}, params: {bytes_text(self.param_bytes)}, buffers: "
            f"{bytes_text(self.buffer_bytes)}, saved for backward: {bytes_text(self.saved_bytes)}",
        ]
        return "\n".join([rule, lines[0], rule, *[line.rstrip() for line in lines[1:]], rule, *totals, rule])

    def __str__(self) -> str:
        return self.table()

    __repr__ = __str__


class _Watcher(TorchDispatchMode):
    """Counts what operators do for the modules that are running."""

    def __init__(self, constant: set[int]):
        super().__init__()
        self.running: list[LayerRow] = []
        self.saved: dict[int, Any] = {}  # id of a storage -> it; kept, so that no other one gets its id
        self.constant = constant

    def __torch_dispatch__(self, func: Any, types: Any, args: tuple = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        formula = flop_registry.get(func.overloadpacket)
        if formula is not None:
            count = formula(*args, **{k: v for k, v in (kwargs or {}).items() if k != "out"}, out=result)
            for row in self.running:
                row.flops += count
        return result

    def pack(self, tensor: Any) -> Any:
        storage = tensor.storage_of()
        if id(storage) not in self.saved and id(storage) not in self.constant:
            self.saved[id(storage)] = storage
            nbytes = tensor.untyped_storage().nbytes()
            for row in self.running:
                row.saved_bytes += nbytes
        return tensor


def summary(
    model: Module,
    input_size: Sequence[Any] | None = None,
    input_data: Any = None,
    *,
    dtypes: Any = None,
    device: Any = None,
    depth: int = 3,
) -> ModelSummary:
    """Return the modules of a model with the shapes, parameters, operations and memory of one forward pass.

    The pass is made on fake tensors: nothing is computed, no memory taken, and the model stays as it is. So models
    that were built in a `FakeTensorMode`, larger than this machine, are summed up as quickly.

    Parameters
    ----------
    model : Module
        In the mode (training or evaluation) that it is in.
    input_size : sequence of int, or of such
        The shape of the input, or of each; batch dimension included.
    input_data : Tensor, tuple, list or dict, optional
        Inputs instead: one, several, or keyword arguments. Only their shapes, dtypes and devices count.
    dtypes : dtype or list of dtype, optional
        Of the inputs that `input_size` describes; by default the default dtype.
    device : device, optional
        Where these are; by default where the first parameter is.
    depth : int
        How many levels of modules the table shows.

    Returns
    -------
    ModelSummary

    Raises
    ------
    ValueError
        If neither or both of `input_size` and `input_data` are given, or dtypes and sizes differ in number.
    RuntimeError
        If the forward pass fails: its own error, with the module that was running as a note.

    Examples
    --------
    >>> model = minitorch.nn.Sequential(minitorch.nn.Linear(8, 4), minitorch.nn.ReLU())
    >>> found = minitorch.summary(model, (2, 8))
    >>> found.total_params, found.total_flops, found.rows[1].output_shapes
    (36, 128, [[2, 4]])
    """
    if (input_size is None) == (input_data is None):
        raise ValueError(
            "summary(): pass either input_size, a shape (or a list of shapes), or input_data, but not both"
        )
    if not isinstance(model, Module):
        raise TypeError(f"summary(): the model is an nn.Module, not a {type(model).__name__}")
    mode = _mode_of(model)
    if input_size is not None:
        args, kwargs = _made_inputs(model, mode, input_size, dtypes, device), {}
    else:
        args, kwargs = _given_inputs(mode, input_data)
    if any([is_lazy(tensor) for tensor in (*model.parameters(), *model.buffers())]):
        model = _with_shapes(model, mode, args, kwargs)
    input_bytes = sum(tensor.nbytes for tensor in tensors_in((args, kwargs)))
    state = {
        name: tensor if isinstance(tensor, FakeTensor) else mode.from_tensor(tensor)
        for name, tensor in (
            *model.named_parameters(remove_duplicate=False),
            *model.named_buffers(remove_duplicate=False),
        )
    }
    watcher = _Watcher({id(tensor.storage_of()) for tensor in state.values()})
    rows: list[LayerRow] = []
    handles = _watch_modules(model, watcher, rows)
    try:
        with mode, watcher, minitorch.enable_grad(), saved_tensors_hooks(watcher.pack, lambda tensor: tensor):
            functional_call(model, state, args, kwargs)
    except Exception as error:
        if watcher.running:
            row = watcher.running[-1]
            error.add_note(
                f"summary(): in {row.name or 'the model'} ({row.kind}), with inputs of shapes {row.input_shapes}"
            )
        raise
    finally:
        for handle in handles:
            handle.remove()
    return ModelSummary(model, rows, input_bytes, depth)


def _with_shapes(model: Module, mode: FakeTensorMode, args: tuple, kwargs: dict[str, Any]) -> Module:
    """Return a copy of a model with lazy parameters, which are fake tensors of the shapes that the inputs ask for."""
    model = copy.deepcopy(model)
    with mode, minitorch.no_grad():
        model(*args, **kwargs)
    return model


def _mode_of(model: Module) -> FakeTensorMode:
    """Return the mode of a model that is fake already, else a new one."""
    for tensor in (*model.parameters(), *model.buffers()):
        if isinstance(tensor, FakeTensor):
            return tensor.fake_mode
    return FakeTensorMode(allow_non_fake_inputs=True)


def _made_inputs(model: Module, mode: FakeTensorMode, input_size: Sequence[Any], dtypes: Any, device: Any) -> tuple:
    sizes = list(input_size)
    if not sizes or not isinstance(sizes[0], (tuple, list)):
        sizes = [sizes]
    if dtypes is None or not isinstance(dtypes, (tuple, list)):
        dtypes = [dtypes] * len(sizes)
    if len(dtypes) != len(sizes):
        raise ValueError(f"summary(): {len(sizes)} input sizes, but {len(dtypes)} dtypes")
    if device is None:
        first = next(iter(model.parameters()), None)
        device = "cpu" if first is None else first.device
    with mode:
        return tuple(
            minitorch.zeros(tuple(size), dtype=dtype, device=device) for size, dtype in zip(sizes, dtypes, strict=True)
        )


def _given_inputs(mode: FakeTensorMode, input_data: Any) -> tuple[tuple, dict[str, Any]]:
    def fake(value: Any) -> Any:
        if isinstance(value, TensorBase) and not isinstance(value, FakeTensor):
            return mode.from_tensor(value)
        return value

    found = tree_map(fake, input_data)
    if isinstance(found, dict):
        return (), found
    return (tuple(found) if isinstance(found, (tuple, list)) else (found,)), {}


def _watch_modules(model: Module, watcher: _Watcher, rows: list[LayerRow]) -> list[Any]:
    """Let each call of a module add a row; return the handles that end it."""
    met: set[int] = set()
    counted: set[int] = set()

    def begins(name: str, module: Module, args: tuple, kwargs: dict[str, Any]) -> None:
        own = 0
        for parameter in module.parameters(recurse=False):
            if id(parameter) not in counted:
                counted.add(id(parameter))
                own += parameter.numel()
        row = LayerRow(
            name, type(module).__name__, len(watcher.running), _shapes((args, kwargs)), own, id(module) in met
        )
        met.add(id(module))
        rows.append(row)
        watcher.running.append(row)

    def ended(module: Module, args: Any, output: Any) -> None:
        watcher.running.pop().output_shapes = _shapes(output)

    handles = []
    for name, module in model.named_modules():
        handles.append(
            module.register_forward_pre_hook(
                lambda module, args, kwargs, name=name: begins(name, module, args, kwargs), with_kwargs=True
            )
        )
        handles.append(module.register_forward_hook(ended))
    return handles


def _shapes(values: Any) -> list[list[int]]:
    return [list(tensor.shape) for tensor in tensors_in(values)]


def _shapes_text(shapes: list[list[int]]) -> str:
    if not shapes:
        return "--"
    return ", ".join(map(str, shapes[:3])) + (", ..." if len(shapes) > 3 else "")


def bytes_text(nbytes: int) -> str:
    """Return bytes with the unit that fits them: ``1.5 KiB``."""
    if nbytes < 1024:
        return f"{nbytes} B"
    power = min((nbytes.bit_length() - 1) // 10, 4)
    return f"{nbytes / 1024**power:.1f} {('KiB', 'MiB', 'GiB', 'TiB')[power - 1]}"
