"""Random numbers: what exists."""

from minitorch.ops.registry import FUNCTION, METHOD, POINTWISE, RANDOM, operator

# ---------------------------------------------------------------- factories

operator(
    "rand(SymInt[] size, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, "
    "bool? pin_memory=None) -> Tensor",
    variants=FUNCTION,
    tags=RANDOM,
)
operator(
    "rand.generator(SymInt[] size, *, Generator? generator, ScalarType? dtype=None, Layout? layout=None, "
    "Device? device=None, bool? pin_memory=None) -> Tensor",
    variants=FUNCTION,
    tags=RANDOM,
)
operator(
    "rand.out(SymInt[] size, *, Tensor(a!) out) -> Tensor(a!)", variants=FUNCTION, tags=RANDOM
)
operator(
    "rand.generator_out(SymInt[] size, *, Generator? generator, Tensor(a!) out) -> Tensor(a!)",
    variants=FUNCTION,
    tags=RANDOM,
)
operator(
    "rand_like(Tensor self, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, "
    "bool? pin_memory=None, MemoryFormat? memory_format=None) -> Tensor",
    variants=FUNCTION,
    tags=RANDOM,
)
operator(
    "rand_like.generator(Tensor self, *, Generator? generator, ScalarType? dtype=None, "
    "Layout? layout=None, Device? device=None, bool? pin_memory=None, "
    "MemoryFormat? memory_format=None) -> Tensor",
    variants=FUNCTION,
    tags=RANDOM,
)
operator(
    "randn(SymInt[] size, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, "
    "bool? pin_memory=None) -> Tensor",
    variants=FUNCTION,
    tags=RANDOM,
)
operator(
    "randn.generator(SymInt[] size, *, Generator? generator, ScalarType? dtype=None, Layout? layout=None, "
    "Device? device=None, bool? pin_memory=None) -> Tensor",
    variants=FUNCTION,
    tags=RANDOM,
)
operator(
    "randn.out(SymInt[] size, *, Tensor(a!) out) -> Tensor(a!)", variants=FUNCTION, tags=RANDOM
)
operator(
    "randn.generator_out(SymInt[] size, *, Generator? generator, Tensor(a!) out) -> Tensor(a!)",
    variants=FUNCTION,
    tags=RANDOM,
)
operator(
    "randn_like(Tensor self, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, "
    "bool? pin_memory=None, MemoryFormat? memory_format=None) -> Tensor",
    variants=FUNCTION,
    tags=RANDOM,
)
operator(
    "randn_like.generator(Tensor self, *, Generator? generator, ScalarType? dtype=None, "
    "Layout? layout=None, Device? device=None, bool? pin_memory=None, "
    "MemoryFormat? memory_format=None) -> Tensor",
    variants=FUNCTION,
    tags=RANDOM,
)
operator(
    "randint(SymInt high, SymInt[] size, *, ScalarType? dtype=4, Layout? layout=None, "
    "Device? device=None, bool? pin_memory=None) -> Tensor",
    variants=FUNCTION,
    tags=RANDOM,
)
operator(
    "randint.generator(SymInt high, SymInt[] size, *, Generator? generator, ScalarType? dtype=4, "
    "Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor",
    variants=FUNCTION,
    tags=RANDOM,
)
operator(
    "randint.low(SymInt low, SymInt high, SymInt[] size, *, ScalarType? dtype=4, Layout? layout=None, "
    "Device? device=None, bool? pin_memory=None) -> Tensor",
    variants=FUNCTION,
    tags=RANDOM,
)
operator(
    "randint.low_generator(SymInt low, SymInt high, SymInt[] size, *, Generator? generator, "
    "ScalarType? dtype=4, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor",
    variants=FUNCTION,
    tags=RANDOM,
)
operator(
    "randint.out(SymInt high, SymInt[] size, *, Tensor(a!) out) -> Tensor(a!)",
    variants=FUNCTION,
    tags=RANDOM,
)
operator(
    "randint.generator_out(SymInt high, SymInt[] size, *, Generator? generator, Tensor(a!) out) -> Tensor(a!)",
    variants=FUNCTION,
    tags=RANDOM,
)
operator(
    "randint.low_out(SymInt low, SymInt high, SymInt[] size, *, Tensor(a!) out) -> Tensor(a!)",
    variants=FUNCTION,
    tags=RANDOM,
)
operator(
    "randint.low_generator_out(SymInt low, SymInt high, SymInt[] size, *, Generator? generator, "
    "Tensor(a!) out) -> Tensor(a!)",
    variants=FUNCTION,
    tags=RANDOM,
)
operator(
    "randint_like(Tensor self, SymInt high, *, ScalarType? dtype=None, Layout? layout=None, "
    "Device? device=None, bool? pin_memory=None, MemoryFormat? memory_format=None) -> Tensor",
    variants=FUNCTION,
    tags=RANDOM,
)
operator(
    "randint_like.Tensor(Tensor self, Tensor high, *, ScalarType? dtype=None, Layout? layout=None, "
    "Device? device=None, bool? pin_memory=None, MemoryFormat? memory_format=None) -> Tensor",
    variants=FUNCTION,
    tags=RANDOM,
)
operator(
    "randint_like.low_dtype(Tensor self, SymInt low, SymInt high, *, ScalarType? dtype=None, "
    "Layout? layout=None, Device? device=None, bool? pin_memory=None, "
    "MemoryFormat? memory_format=None) -> Tensor",
    variants=FUNCTION,
    tags=RANDOM,
)
operator(
    "randint_like.generator(Tensor self, SymInt high, *, Generator? generator, ScalarType? dtype=None, "
    "Layout? layout=None, Device? device=None, bool? pin_memory=None, "
    "MemoryFormat? memory_format=None) -> Tensor",
    variants=FUNCTION,
    tags=RANDOM,
)
operator(
    "randint_like.Tensor_generator(Tensor self, Tensor high, *, Generator? generator, "
    "ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None, "
    "MemoryFormat? memory_format=None) -> Tensor",
    variants=FUNCTION,
    tags=RANDOM,
)
operator(
    "randint_like.low_generator_dtype(Tensor self, SymInt low, SymInt high, *, Generator? generator, "
    "ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None, "
    "MemoryFormat? memory_format=None) -> Tensor",
    variants=FUNCTION,
    tags=RANDOM,
)
operator(
    "randperm(SymInt n, *, ScalarType? dtype=4, Layout? layout=None, Device? device=None, "
    "bool? pin_memory=None) -> Tensor",
    variants=FUNCTION,
    tags=RANDOM,
)
operator(
    "randperm.generator(SymInt n, *, Generator? generator, ScalarType? dtype=4, Layout? layout=None, "
    "Device? device=None, bool? pin_memory=None) -> Tensor",
    variants=FUNCTION,
    tags=RANDOM,
)
operator("randperm.out(SymInt n, *, Tensor(a!) out) -> Tensor(a!)", variants=FUNCTION, tags=RANDOM)
operator(
    "randperm.generator_out(SymInt n, *, Generator? generator, Tensor(a!) out) -> Tensor(a!)",
    variants=FUNCTION,
    tags=RANDOM,
)
operator(
    "normal.Tensor_float(Tensor mean, float std=1., *, Generator? generator=None) -> Tensor",
    out="normal.Tensor_float_out",
    variants=FUNCTION,
    tags=RANDOM,
)
operator(
    "normal.float_Tensor(float mean, Tensor std, *, Generator? generator=None) -> Tensor",
    out="normal.float_Tensor_out",
    variants=FUNCTION,
    tags=RANDOM,
)
operator(
    "normal.Tensor_Tensor(Tensor mean, Tensor std, *, Generator? generator=None) -> Tensor",
    out="normal.Tensor_Tensor_out",
    variants=FUNCTION,
    tags=RANDOM,
)
operator(
    "normal.float_float(float mean, float std, SymInt[] size, *, Generator? generator=None, "
    "ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor",
    variants=FUNCTION,
    tags=RANDOM,
)
operator(
    "normal.float_float_out(float mean, float std, SymInt[] size, *, Generator? generator=None, "
    "Tensor(a!) out) -> Tensor(a!)",
    variants=FUNCTION,
    tags=RANDOM,
)

# ---------------------------------------------------------------- drawn from a tensor's values

operator(
    "bernoulli(Tensor self, *, Generator? generator=None) -> Tensor",
    out="bernoulli.out",
    tags=RANDOM,
)
operator("bernoulli.p(Tensor self, float p, *, Generator? generator=None) -> Tensor", tags=RANDOM)
operator(
    "bernoulli.Tensor(Tensor self, Tensor p, *, Generator? generator=None) -> Tensor",
    variants=0,
    tags=RANDOM,
)
operator(
    "multinomial(Tensor self, SymInt num_samples, bool replacement=False, *, "
    "Generator? generator=None) -> Tensor",
    tags=RANDOM,
)
operator(
    "multinomial.out(Tensor self, SymInt num_samples, bool replacement=False, *, "
    "Generator? generator=None, Tensor(a!) out) -> Tensor(a!)",
    variants=FUNCTION,
    tags=RANDOM,
)
operator(
    "binomial(Tensor count, Tensor prob, Generator? generator=None) -> Tensor",
    variants=FUNCTION, tags=RANDOM,
)  # fmt: skip
operator("_standard_gamma(Tensor self, Generator? generator=None) -> Tensor", variants=FUNCTION, tags=RANDOM)
operator("_sample_dirichlet(Tensor self, Generator? generator=None) -> Tensor", variants=FUNCTION, tags=RANDOM)
# How a draw of these moves with its parameter.
operator("_standard_gamma_grad(Tensor self, Tensor output) -> Tensor", variants=FUNCTION, tags=POINTWISE)
operator("_dirichlet_grad(Tensor x, Tensor alpha, Tensor total) -> Tensor", variants=FUNCTION, tags=POINTWISE)
operator(
    "poisson(Tensor self, Generator? generator=None) -> Tensor", variants=FUNCTION, tags=RANDOM
)

# ---------------------------------------------------------------- filling a tensor

operator(
    "uniform_(Tensor(a!) self, float from=0., float to=1., *, Generator? generator=None) -> Tensor(a!)",
    variants=METHOD,
    tags=RANDOM,
)
operator(
    "normal_(Tensor(a!) self, float mean=0., float std=1., *, Generator? generator=None) -> Tensor(a!)",
    variants=METHOD,
    tags=RANDOM,
)
operator(
    "bernoulli_.Tensor(Tensor(a!) self, Tensor p, *, Generator? generator=None) -> Tensor(a!)",
    variants=METHOD,
    tags=RANDOM,
)
operator(
    "bernoulli_.float(Tensor(a!) self, float p=0.5, *, Generator? generator=None) -> Tensor(a!)",
    variants=METHOD,
    tags=RANDOM,
)
operator(
    "random_.from(Tensor(a!) self, int from, int? to, *, Generator? generator=None) -> Tensor(a!)",
    variants=METHOD,
    tags=RANDOM,
)
operator(
    "random_.to(Tensor(a!) self, int to, *, Generator? generator=None) -> Tensor(a!)",
    variants=METHOD,
    tags=RANDOM,
)
operator(
    "random_(Tensor(a!) self, *, Generator? generator=None) -> Tensor(a!)",
    variants=METHOD,
    tags=RANDOM,
)
operator(
    "exponential_(Tensor(a!) self, float lambd=1., *, Generator? generator=None) -> Tensor(a!)",
    variants=METHOD,
    tags=RANDOM,
)
operator(
    "cauchy_(Tensor(a!) self, float median=0., float sigma=1., *, Generator? generator=None) -> Tensor(a!)",
    variants=METHOD,
    tags=RANDOM,
)
operator(
    "geometric_(Tensor(a!) self, float p, *, Generator? generator=None) -> Tensor(a!)",
    variants=METHOD,
    tags=RANDOM,
)
operator(
    "log_normal_(Tensor(a!) self, float mean=1., float std=2., *, Generator? generator=None) -> Tensor(a!)",
    variants=METHOD,
    tags=RANDOM,
)

# Their functional forms, which functionalization needs and users do not see.
operator(
    "uniform(Tensor self, float from=0., float to=1., *, Generator? generator=None) -> Tensor",
    variants=0,
    tags=RANDOM,
)
operator(
    "normal_functional(Tensor self, float mean=0., float std=1., *, Generator? generator=None) -> Tensor",
    variants=0,
    tags=RANDOM,
)
operator(
    "random.from(Tensor self, int from, int? to, *, Generator? generator=None) -> Tensor",
    variants=0,
    tags=RANDOM,
)
operator(
    "random.to(Tensor self, int to, *, Generator? generator=None) -> Tensor",
    variants=0,
    tags=RANDOM,
)
operator("random(Tensor self, *, Generator? generator=None) -> Tensor", variants=0, tags=RANDOM)
operator(
    "exponential(Tensor self, float lambd=1., *, Generator? generator=None) -> Tensor",
    variants=0,
    tags=RANDOM,
)
operator(
    "cauchy(Tensor self, float median=0., float sigma=1., *, Generator? generator=None) -> Tensor",
    variants=0,
    tags=RANDOM,
)
operator(
    "geometric(Tensor self, float p, *, Generator? generator=None) -> Tensor",
    variants=0,
    tags=RANDOM,
)
operator(
    "log_normal(Tensor self, float mean=1., float std=2., *, Generator? generator=None) -> Tensor",
    variants=0,
    tags=RANDOM,
)

# ---------------------------------------------------------------- dropout

operator(
    "native_dropout(Tensor input, float p, bool? train) -> (Tensor, Tensor)",
    variants=FUNCTION,
    tags=RANDOM,
)
operator(
    "native_dropout_backward(Tensor grad_output, Tensor mask, float scale) -> Tensor", variants=0
)
operator("dropout(Tensor input, float p, bool train) -> Tensor", variants=FUNCTION, tags=RANDOM)
operator(
    "dropout_(Tensor(a!) self, float p, bool train) -> Tensor(a!)", variants=FUNCTION, tags=RANDOM
)
operator(
    "feature_dropout(Tensor input, float p, bool train) -> Tensor", variants=FUNCTION, tags=RANDOM
)
operator(
    "feature_dropout_(Tensor(a!) self, float p, bool train) -> Tensor(a!)",
    variants=FUNCTION,
    tags=RANDOM,
)
operator(
    "alpha_dropout(Tensor input, float p, bool train) -> Tensor", variants=FUNCTION, tags=RANDOM
)
operator(
    "alpha_dropout_(Tensor(a!) self, float p, bool train) -> Tensor(a!)",
    variants=FUNCTION,
    tags=RANDOM,
)
operator(
    "feature_alpha_dropout(Tensor input, float p, bool train) -> Tensor",
    variants=FUNCTION,
    tags=RANDOM,
)
operator(
    "feature_alpha_dropout_(Tensor(a!) self, float p, bool train) -> Tensor(a!)",
    variants=FUNCTION,
    tags=RANDOM,
)
