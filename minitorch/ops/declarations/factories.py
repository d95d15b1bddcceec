"""Factories: what exists."""

from minitorch.ops.registry import FUNCTION, METHOD, operator

operator(
    "empty.memory_format(SymInt[] size, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, "
    "bool? pin_memory=None, MemoryFormat? memory_format=None) -> Tensor",
    variants=FUNCTION,
)
operator(
    "empty.out(SymInt[] size, *, MemoryFormat? memory_format=None, Tensor(a!) out) -> Tensor(a!)",
    variants=FUNCTION,
)
operator(
    "empty_strided(SymInt[] size, SymInt[] stride, *, ScalarType? dtype=None, Layout? layout=None, "
    "Device? device=None, bool? pin_memory=None) -> Tensor",
    variants=FUNCTION,
)
operator(
    "empty_permuted(SymInt[] size, int[] physical_layout, *, ScalarType? dtype=None, Layout? layout=None, "
    "Device? device=None, bool? pin_memory=None) -> Tensor",
    variants=FUNCTION,
)
operator(
    "empty_like(Tensor self, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, "
    "bool? pin_memory=None, MemoryFormat? memory_format=None) -> Tensor",
    variants=FUNCTION,
)
operator(
    "zeros(SymInt[] size, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, "
    "bool? pin_memory=None) -> Tensor",
    variants=FUNCTION,
)
operator(
    "_efficientzerotensor(SymInt[] size, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, "
    "bool? pin_memory=None) -> Tensor",
    variants=FUNCTION,
)
operator("zeros.out(SymInt[] size, *, Tensor(a!) out) -> Tensor(a!)", variants=FUNCTION)
operator(
    "zeros_like(Tensor self, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, "
    "bool? pin_memory=None, MemoryFormat? memory_format=None) -> Tensor",
    variants=FUNCTION,
)
operator(
    "ones(SymInt[] size, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, "
    "bool? pin_memory=None) -> Tensor",
    variants=FUNCTION,
)
operator("ones.out(SymInt[] size, *, Tensor(a!) out) -> Tensor(a!)", variants=FUNCTION)
operator(
    "ones_like(Tensor self, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, "
    "bool? pin_memory=None, MemoryFormat? memory_format=None) -> Tensor",
    variants=FUNCTION,
)
operator(
    "full(SymInt[] size, Scalar fill_value, *, ScalarType? dtype=None, Layout? layout=None, "
    "Device? device=None, bool? pin_memory=None) -> Tensor",
    variants=FUNCTION,
)
operator(
    "full.out(SymInt[] size, Scalar fill_value, *, Tensor(a!) out) -> Tensor(a!)", variants=FUNCTION
)
operator(
    "full_like(Tensor self, Scalar fill_value, *, ScalarType? dtype=None, Layout? layout=None, "
    "Device? device=None, bool? pin_memory=None, MemoryFormat? memory_format=None) -> Tensor",
    variants=FUNCTION,
)
operator(
    "scalar_tensor(Scalar s, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, "
    "bool? pin_memory=None) -> Tensor",
    variants=FUNCTION,
)

operator(
    "new_empty(Tensor self, SymInt[] size, *, ScalarType? dtype=None, Layout? layout=None, "
    "Device? device=None, bool? pin_memory=None) -> Tensor",
    variants=METHOD,
)
operator(
    "new_empty_strided(Tensor self, SymInt[] size, SymInt[] stride, *, ScalarType? dtype=None, "
    "Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor",
    variants=METHOD,
)
operator(
    "new_zeros(Tensor self, SymInt[] size, *, ScalarType? dtype=None, Layout? layout=None, "
    "Device? device=None, bool? pin_memory=None) -> Tensor",
    variants=METHOD,
)
operator(
    "new_ones(Tensor self, SymInt[] size, *, ScalarType? dtype=None, Layout? layout=None, "
    "Device? device=None, bool? pin_memory=None) -> Tensor",
    variants=METHOD,
)
operator(
    "new_full(Tensor self, SymInt[] size, Scalar fill_value, *, ScalarType? dtype=None, "
    "Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor",
    variants=METHOD,
)

operator(
    "arange(Scalar end, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, "
    "bool? pin_memory=None) -> Tensor",
    variants=FUNCTION,
)
operator(
    "arange.start(Scalar start, Scalar end, *, ScalarType? dtype=None, Layout? layout=None, "
    "Device? device=None, bool? pin_memory=None) -> Tensor",
    variants=FUNCTION,
)
operator(
    "arange.start_step(Scalar start, Scalar end, Scalar step=1, *, ScalarType? dtype=None, "
    "Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor",
    variants=FUNCTION,
)
operator("arange.out(Scalar end, *, Tensor(a!) out) -> Tensor(a!)", variants=FUNCTION)
operator(
    "arange.start_out(Scalar start, Scalar end, Scalar step=1, *, Tensor(a!) out) -> Tensor(a!)",
    variants=FUNCTION,
)
operator(
    "range.step(Scalar start, Scalar end, Scalar step=1, *, ScalarType? dtype=None, "
    "Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor",
    variants=FUNCTION,
)
operator(
    "range.out(Scalar start, Scalar end, Scalar step=1, *, Tensor(a!) out) -> Tensor(a!)",
    variants=FUNCTION,
)
operator(
    "linspace(Scalar start, Scalar end, int steps, *, ScalarType? dtype=None, Layout? layout=None, "
    "Device? device=None, bool? pin_memory=None) -> Tensor",
    variants=FUNCTION,
)
operator(
    "linspace.Tensor_Tensor(Tensor start, Tensor end, int steps, *, ScalarType? dtype=None, "
    "Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor",
    variants=FUNCTION,
)
operator(
    "linspace.Tensor_Scalar(Tensor start, Scalar end, int steps, *, ScalarType? dtype=None, "
    "Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor",
    variants=FUNCTION,
)
operator(
    "linspace.Scalar_Tensor(Scalar start, Tensor end, int steps, *, ScalarType? dtype=None, "
    "Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor",
    variants=FUNCTION,
)
operator(
    "linspace.out(Scalar start, Scalar end, int steps, *, Tensor(a!) out) -> Tensor(a!)",
    variants=FUNCTION,
)
operator(
    "linspace.Tensor_Tensor_out(Tensor start, Tensor end, int steps, *, Tensor(a!) out) -> Tensor(a!)",
    variants=FUNCTION,
)
operator(
    "linspace.Tensor_Scalar_out(Tensor start, Scalar end, int steps, *, Tensor(a!) out) -> Tensor(a!)",
    variants=FUNCTION,
)
operator(
    "linspace.Scalar_Tensor_out(Scalar start, Tensor end, int steps, *, Tensor(a!) out) -> Tensor(a!)",
    variants=FUNCTION,
)
operator(
    "logspace(Scalar start, Scalar end, int steps, float base=10., *, ScalarType? dtype=None, "
    "Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor",
    variants=FUNCTION,
)
operator(
    "logspace.Tensor_Tensor(Tensor start, Tensor end, int steps, float base=10., *, "
    "ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor",
    variants=FUNCTION,
)
operator(
    "logspace.Tensor_Scalar(Tensor start, Scalar end, int steps, float base=10., *, "
    "ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor",
    variants=FUNCTION,
)
operator(
    "logspace.Scalar_Tensor(Scalar start, Tensor end, int steps, float base=10., *, "
    "ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor",
    variants=FUNCTION,
)
operator(
    "logspace.out(Scalar start, Scalar end, int steps, float base=10., *, Tensor(a!) out) -> Tensor(a!)",
    variants=FUNCTION,
)
operator(
    "logspace.Tensor_Tensor_out(Tensor start, Tensor end, int steps, float base=10., *, "
    "Tensor(a!) out) -> Tensor(a!)",
    variants=FUNCTION,
)
operator(
    "logspace.Tensor_Scalar_out(Tensor start, Scalar end, int steps, float base=10., *, "
    "Tensor(a!) out) -> Tensor(a!)",
    variants=FUNCTION,
)
operator(
    "logspace.Scalar_Tensor_out(Scalar start, Tensor end, int steps, float base=10., *, "
    "Tensor(a!) out) -> Tensor(a!)",
    variants=FUNCTION,
)

operator(
    "eye(SymInt n, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, "
    "bool? pin_memory=None) -> Tensor",
    variants=FUNCTION,
)
operator(
    "eye.m(SymInt n, SymInt m, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, "
    "bool? pin_memory=None) -> Tensor",
    variants=FUNCTION,
)
operator("eye.out(SymInt n, *, Tensor(a!) out) -> Tensor(a!)", variants=FUNCTION)
operator("eye.m_out(SymInt n, SymInt m, *, Tensor(a!) out) -> Tensor(a!)", variants=FUNCTION)
operator(
    "tril_indices(int row, int col, int offset=0, *, ScalarType? dtype=4, Layout? layout=None, "
    "Device? device=None, bool? pin_memory=None) -> Tensor",
    variants=FUNCTION,
)
operator(
    "triu_indices(int row, int col, int offset=0, *, ScalarType? dtype=4, Layout? layout=None, "
    "Device? device=None, bool? pin_memory=None) -> Tensor",
    variants=FUNCTION,
)

operator("complex(Tensor real, Tensor imag) -> Tensor", variants=FUNCTION)
operator(
    "complex.out(Tensor real, Tensor imag, *, Tensor(a!) out) -> Tensor(a!)", variants=FUNCTION
)
operator("polar(Tensor abs, Tensor angle) -> Tensor", variants=FUNCTION)
operator("polar.out(Tensor abs, Tensor angle, *, Tensor(a!) out) -> Tensor(a!)", variants=FUNCTION)
