"""`check_operator`: an operator on a device against the same one on the CPU, by its record in `op_db`.

Note [How calls are compared]
    Each sample of the record is called on the CPU and on the device, as it is and in every layout, with new arguments each
    time.  What the CPU does is right: its results, what it writes, what shares memory, and that it raises.  Only where
    a layout gives the call other operands (an empty tensor, say) and the CPU refuses these, nothing is compared.
    In-place and out= forms and gradients are looked at where the function itself is right.
"""

from __future__ import annotations

import itertools
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import minitorch
from minitorch.backends import FallbackReport, clear_fallbacks, fallback_policy, fallback_report
from minitorch.ops.registry import DECLARATIONS
from minitorch.tensor.base import TensorBase
from minitorch.testing.conformance.compare import (
    OF_GRADIENTS,
    Difference,
    check_facts,
    check_values,
    differing,
    flat,
    on_cpu,
)
from minitorch.testing.conformance.layouts import CHANGE_VALUES, LAYOUTS, laid_out, placed
from minitorch.testing.conformance.outcome import Failure, Outcome
from minitorch.testing.op_db import Maker, OpRecord, Sample

# Families whose results depend on a choice where elements are equal, or that need independent rows: not expanded.
_NOT_EXPANDED = ("linalg", "factorizations", "sorting", "attention")
# Operators that say where their result is to be, or that give their argument's memory to NumPy.
_CHOOSE_DEVICE = ("Tensor.cpu", "Tensor.to", "Tensor.numpy", "Tensor.type")
_UNINITIALIZED = ("empty", "new_empty")


@dataclass
class Options:
    """Which checks run.

    Attributes
    ----------
    device : device
    dtypes : tuple of str
        None but these; empty for all that a record has.
    samples : int
        At most so many for each dtype.
    samples_of_layouts : int
        So many in every layout, and for dtypes other than a record's first.
    first_dtype_only : bool
    """

    device: Any
    dtypes: tuple[str, ...] = ()
    samples: int = 1000
    samples_of_layouts: int = 4
    first_dtype_only: bool = False

    def of_record(self, record: OpRecord) -> list[str]:
        """Return the dtypes in which an operator is checked."""
        names = [name for name in record.dtypes if (not self.dtypes or name in self.dtypes) and holds(self.device, name)]
        return names[:1] if self.first_dtype_only else names


_held: dict[tuple, bool] = {}


def holds(device: Any, dtype_name: str) -> bool:
    """Return whether a device has tensors of a dtype."""
    key = str(device), dtype_name
    if key not in _held:
        try:
            minitorch.zeros(1, dtype=getattr(minitorch, dtype_name)).to(device)
            _held[key] = True
        except (RuntimeError, TypeError, NotImplementedError):
            _held[key] = False
    return _held[key]


def check_operator(record: OpRecord, options: Options) -> Outcome:
    """Return what is right and wrong about an operator of a device."""
    return _Checks(record, options).run()


class _Checks:
    """The checks of one operator."""

    def __init__(self, record: OpRecord, options: Options):
        self.record = record
        self.options = options
        self.device = minitorch.device(options.device)
        if self.device.index is None and self.device.type != "cpu":
            self.device = minitorch.zeros(1).to(self.device).device
        self.outcome = Outcome(record.name, record.family)
        self.what = "", "", ""  # layout, dtype and sample of the check that runs

    def run(self) -> Outcome:
        start = time.perf_counter()
        with fallback_policy("allow"), warnings.catch_warnings(), minitorch.random.fork_rng():
            warnings.simplefilter("ignore")
            names = self.options.of_record(self.record)
            for number, name in enumerate(names):
                self.check_forward(name, number == 0)
            if names:
                self.check_first_dtype(names[0])
        self.outcome.seconds = time.perf_counter() - start
        return self.outcome

    def check_first_dtype(self, name: str) -> None:
        record = self.record
        dtype = getattr(minitorch, name)
        is_right = not self.outcome.failures
        if record.make_errors is not None:
            self.check_errors(name)
        if not is_right:
            return  # the other forms are made of the function: what is wrong with it would be said again
        if record.inplace is not None:
            self.check_inplace(dtype)
        if record.out_names():
            self.check_out(dtype)
        if record.autograd and not record.no_gradcheck and not record.random and (dtype.is_floating_point or dtype.is_complex):
            self.check_gradients(dtype)

    # -- what happened ---------------------------------------------------------------------

    def at(self, layout: str, dtype: Any, sample: Any) -> None:
        """Say what is checked now, for `fail`."""
        self.what = layout, getattr(dtype, "name", str(dtype)), f"{self.record.name}{sample!r}"

    def fail(self, kind: str, text: str) -> None:
        layout, dtype, call = self.what
        self.outcome.failures.append(Failure(kind, layout, dtype, f"{call}: {text}"))

    def attempt(self, check: Callable[[], None], form: str = "") -> None:
        """Run a check; what it raises is a failure: of a kind of its own, or of the form of the operator that is checked."""
        try:
            check()
        except Difference as found:
            self.fail(form or found.kind, str(found))
        except Exception as error:
            self.fail("error", f"{type(error).__name__}: {_first_line(error)}")

    def on_device(self, function: Callable, counted: bool = True) -> Any:
        """Call what runs on the device, and note what of it fell back to the CPU."""
        clear_fallbacks()
        try:
            result = function()
            synchronize(self.device)
            return result
        finally:
            rows = fallback_report()
            self.outcome.calls += counted
            self.outcome.calls_on_cpu += bool(counted and len(rows))
            self.note(rows)

    def note(self, rows: FallbackReport) -> None:
        for row in rows:
            self.outcome.fallbacks.setdefault(row.operator, row.reason)

    def seeded(self, function: Callable, sample: Sample) -> Any:
        if self.record.random:
            minitorch.manual_seed(0)
        return function(*sample.args, **sample.kwargs)

    def samples(self, dtype: Any, limit: int, **kwargs: Any) -> list[Sample]:
        return list(itertools.islice(self.record.samples(dtype, **kwargs), min(limit, self.options.samples)))

    # -- values in all layouts ---------------------------------------------------------------

    def check_forward(self, name: str, is_first: bool) -> None:
        dtype, few = getattr(minitorch, name), self.options.samples_of_layouts
        for number, sample in enumerate(self.samples(dtype, self.options.samples if is_first else few)):
            for layout in LAYOUTS if is_first and number < few else ("as is",):
                if layout != "as is":
                    if not sample.tensors() or self.record.no_layouts:
                        continue
                    if layout == "expanded" and self.record.family in _NOT_EXPANDED:
                        continue
                self.at(layout, dtype, sample)
                self.check_call(sample, layout)

    def check_call(self, sample: Sample, layout: str) -> None:
        """Compare one call in one layout."""
        try:
            host, there, changed = laid_out(sample, layout, self.device)
        except (RuntimeError, NotImplementedError, ValueError) as error:
            if layout == "negative steps":
                return  # the device has none
            self.fail("error", f"a tensor of this layout cannot be made: {type(error).__name__}: {_first_line(error)}")
            return
        if layout != "as is" and not changed:
            return
        if self.takes_device(there):
            there.kwargs["device"] = self.device
        try:
            wanted = self.seeded(self.record.function, host)
        except Exception as error:
            if layout in CHANGE_VALUES:
                return
            self.must_raise(error, lambda: self.seeded(self.record.function, there))
            return
        self.attempt(lambda: self.compare(host, there, wanted, layout))

    def takes_device(self, sample: Sample) -> bool:
        """Return whether a call says on which device its result is to be."""
        if "device" in sample.kwargs:
            return True
        return not sample.tensors() and self.record.family in ("factories", "windows", "random", "fft")

    def compare(self, host: Sample, there: Sample, wanted: Any, layout: str) -> None:
        record = self.record
        result = self.on_device(lambda: self.seeded(record.function, there))
        found, expected = flat(result), flat(wanted)
        chooses = record.name in _CHOOSE_DEVICE
        check_facts(found, expected, None if chooses else self.device)
        self.check_arguments(host, there)
        shared = not chooses and self.check_sharing(found, expected, there, host)
        if record.random:
            self.check_seed(there, found)
        else:
            projected = flat(_projected(record, on_cpu(result))), flat(_projected(record, on_cpu(wanted)))
            check_values(*projected, record.tolerance)
        if layout == "as is" and not shared and not chooses:
            self.check_new_memory(found, there, host)

    def check_arguments(self, host: Sample, there: Sample) -> None:
        """The device's arguments hold what the CPU's do after the call."""
        if self.record.random:
            return
        for i, (one, other) in enumerate(zip(there.tensors(), host.tensors(), strict=True)):
            text = differing(one.cpu(), other, self.record.tolerance) if one.numel() or other.numel() else ""
            if text:
                is_written = other._version > 0
                raise Difference("in-place" if is_written else "mutation", f"argument {i} after the call: {text}")

    def check_sharing(self, found: list, expected: list, there: Sample, host: Sample) -> bool:
        """A result shares the memory of an argument where the CPU's does; return whether any does."""
        shares = False
        for i, (one, other) in enumerate(zip(found, expected, strict=True)):
            if not isinstance(other, TensorBase):
                continue
            for k, (mine, its) in enumerate(zip(there.tensors(), host.tensors(), strict=True)):
                on_host = _share_memory(other, its)
                shares |= on_host
                if not other.numel():  # type: ignore[attr-defined]
                    continue
                if on_host != _share_memory(one, mine):
                    says = "is no view of" if on_host else "shares the memory of"
                    raise Difference("aliasing", f"result {i} {says} argument {k}, other than on the CPU")
        return shares

    def check_new_memory(self, found: list, there: Sample, host: Sample) -> None:
        """What is written into results is not seen in the arguments: memory may be shared without a storage saying so."""
        for result in found:
            if not isinstance(result, TensorBase) or not result.numel():  # type: ignore[attr-defined]
                continue
            before = [t.cpu() for t in there.tensors()]
            tensor: Any = result
            other = tensor.detach().cpu()
            other = other.logical_not() if other.dtype is minitorch.bool else minitorch.full_like(other, 113)
            try:
                tensor.detach().copy_(other)
            except RuntimeError:
                continue  # several of its elements are one
            for i, (argument, kept) in enumerate(zip(there.tensors(), before, strict=True)):
                if differing(argument.cpu(), kept, 0.0):
                    raise Difference("aliasing", f"what is written into the result changes argument {i}")

    def check_seed(self, there: Sample, found: list) -> None:
        """The same seed gives the same numbers."""
        if self.record.basename.startswith(_UNINITIALIZED):
            return
        first = [on_cpu(item) for item in found]
        again = [on_cpu(item) for item in flat(self.seeded(self.record.function, there))]
        check_values(again, first, 0.0, "random")

    # -- other forms ---------------------------------------------------------------------------

    def check_inplace(self, dtype: Any) -> None:
        record = self.record
        method: Any = record.inplace
        turns = any(n.partition(".")[0] == record.basename + "_" and _is_view(d.functional) for n, d in _INPLACE.items())
        for sample in self.samples(dtype, self.options.samples_of_layouts):
            if not sample.args or not isinstance(sample.args[0], TensorBase):
                continue
            for layout in ("as is",) if turns or record.no_layouts else ("as is", "sliced"):
                self.at(layout, dtype, sample)
                target: Any = sample.args[0]
                base, view = LAYOUTS[layout](target.detach()) or (None, None)
                if base is None:
                    continue
                host, there, _ = laid_out(sample, "as is", self.device)
                bases = base.clone(), base.to(self.device, copy=True)
                targets = [view(b) if view is not None else b for b in bases]
                try:
                    self.seeded(method, Sample(targets[0], *host.args[1:], **host.kwargs))
                except Exception:
                    continue

                def check(there=there, targets=targets, bases=bases):
                    call = Sample(targets[1], *there.args[1:], **there.kwargs)
                    result = self.on_device(lambda: self.seeded(method, call))
                    if result is not targets[1]:
                        raise Difference("in-place", f"{record.name}_ does not return its first argument")
                    check_facts([targets[1]], [targets[0]], self.device)
                    if not record.random:
                        check_values([on_cpu(targets[1])], [targets[0]], record.tolerance)
                        check_values([on_cpu(bases[1])], [bases[0]], record.tolerance)

                self.attempt(check, "in-place")

    def check_out(self, dtype: Any) -> None:
        record = self.record
        for sample in self.samples(dtype, self.options.samples_of_layouts):
            host, there, _ = laid_out(sample, "as is", self.device)
            try:
                wanted = flat(self.seeded(record.function, host))
            except Exception:
                continue
            fits = any(len(names) == len(wanted) for names in record.out_names())
            if not fits or not all(isinstance(r, TensorBase) for r in wanted):
                continue
            if self.takes_device(there):
                there.kwargs["device"] = self.device
            for layout in ("as is", "resized", "permuted"):
                self.at(f"out= {layout}", dtype, sample)
                made = [self.new_out(r, layout) for r in wanted]
                host_made = [self.new_out(r, layout, "cpu") for r in wanted]
                try:
                    self.seeded(record.function, Sample(*host.args, **host.kwargs, out=_one_or_all(host_made)))
                except Exception:
                    break  # another overload, which has no out= form
                self.attempt(lambda there=there, made=made, wanted=host_made: self.compare_out(there, made, wanted), "out")

    def new_out(self, like: Any, layout: str, device: Any = None) -> Any:
        device = self.device if device is None else device
        if layout == "resized":
            return minitorch.empty(0, dtype=like.dtype, device=device)
        if layout == "permuted":
            order = tuple(reversed(range(like.dim())))
            return minitorch.zeros(tuple(reversed(like.shape)), dtype=like.dtype, device=device).permute(order)
        return minitorch.zeros(like.shape, dtype=like.dtype, device=device)

    def compare_out(self, there: Sample, made: list, wanted: list) -> None:
        record = self.record
        call = Sample(*there.args, **there.kwargs, out=_one_or_all(made))
        result = flat(self.on_device(lambda: self.seeded(record.function, call)))
        for given, returned in zip(made, result, strict=True):
            if given is not returned:
                raise Difference("out", "what was given as out= is not returned")
        check_facts(made, wanted, self.device)
        if not record.random:
            mine, its = (flat(_projected(record, _one_or_all([on_cpu(r) for r in side]))) for side in (made, wanted))
            check_values(mine, its, record.tolerance)

    def check_errors(self, name: str) -> None:
        for error in self.record.error_samples("cpu"):
            sample = Sample(*error.args, **error.kwargs)
            there = sample.map(lambda t: t if t.is_meta else placed(t, self.device))
            if self.takes_device(there):
                there.kwargs["device"] = self.device
            self.at("as is", name, sample)
            try:
                self.record.function(*sample.args, **sample.kwargs)
            except Exception as raised:
                self.must_raise(raised, lambda there=there: self.record.function(*there.args, **there.kwargs))

    def must_raise(self, error: Exception, function: Callable) -> None:
        """The device raises what the CPU raised."""
        try:
            function()
            synchronize(self.device)
        except Exception as other:
            if not (isinstance(other, type(error)) or isinstance(error, type(other))):
                text = f"raises {type(other).__name__} ({_first_line(other)}), and the CPU {type(error).__name__}"
                self.fail("error", text)
        else:
            self.fail("no error", f"the CPU raises {type(error).__name__}: {_first_line(error)}")

    # -- gradients -----------------------------------------------------------------------------

    def check_gradients(self, dtype: Any) -> None:
        few = self.options.samples_of_layouts
        for sample in self.samples(dtype, few, requires_grad=True):
            if not any(t.requires_grad for t in sample.tensors()):
                continue
            self.at("as is", dtype, sample)
            try:
                wanted = self.gradients(sample, "cpu")
            except Exception as error:
                self.must_raise(error, lambda sample=sample: self.gradients(sample, self.device))
                continue

            def check(sample=sample, wanted=wanted):
                found = self.on_device(lambda: self.gradients(sample, self.device), counted=False)
                for i, (one, other) in enumerate(zip(found, wanted, strict=True)):
                    if (one is None) != (other is None):
                        raise Difference("shape", f"gradient {i} is {'None' if one is None else 'there'}, unlike the CPU's")
                found, kept = [g for g in found if g is not None], [g for g in wanted if g is not None]
                check_facts(found, kept, self.device)
                scale = self.record.tolerance * OF_GRADIENTS
                check_values([on_cpu(g) for g in found], kept, scale)

            self.attempt(check, "gradient")

    def gradients(self, sample: Sample, device: Any) -> list:
        """Return the gradients of the floating results by the tensors of a sample that require one."""
        record = self.record
        leaves: list = []

        def leaf(tensor: Any) -> Any:
            made = placed(tensor, device)
            if tensor.requires_grad:
                leaves.append(made.requires_grad_())
            return made

        given = sample.map(leaf)
        if record.prepare is not None:
            given.args = record.prepare(*given.args, **given.kwargs)
        if record.inplace is not None or record.name.startswith("Tensor."):
            given = given.map(lambda t: t.clone() if t.requires_grad and record.basename.endswith("_") else t)
        results = [r for r in flat(_projected(record, record.function(*given.args, **given.kwargs))) if _has_gradient(r)]
        if not results:
            return [None] * len(leaves)
        weights = [Maker("cpu", r.dtype, False, i)(*r.shape, low=-1, high=1).to(device) for i, r in enumerate(results)]
        return list(minitorch.autograd.grad(results, leaves, weights, allow_unused=True))


_INPLACE = {name: d for name, d in DECLARATIONS.items() if d.kind == "inplace" and d.functional}


def _is_view(name: str) -> bool:
    from minitorch.ops.assemble import is_view

    return is_view(DECLARATIONS[name])


def synchronize(device: Any) -> None:
    """Wait for a device, so that what it finds out late belongs to the call that did it."""
    module = getattr(minitorch, device.type, None)
    if device.type != "cpu" and module is not None:
        module.synchronize(device)


def _first_line(error: BaseException) -> str:
    return str(error).strip().partition("\n")[0]


def _projected(record: OpRecord, result: Any) -> Any:
    return result if record.project is None else record.project(result)


def _one_or_all(tensors: list) -> Any:
    return tensors[0] if len(tensors) == 1 else tuple(tensors)


def _has_gradient(value: Any) -> bool:
    return isinstance(value, TensorBase) and bool(value.requires_grad)  # type: ignore[attr-defined]


def _share_memory(one: Any, other: Any) -> bool:
    return one is other or one.untyped_storage() == other.untyped_storage()
