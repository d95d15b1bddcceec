"""Programs that are traced by torch.fx and by ours: each gets the library, and returns a function or module."""

import enum
import math
from typing import NamedTuple

PROGRAMS: dict = {}


def program(make):
    PROGRAMS[make.__name__] = make
    return make


class Pair(NamedTuple):
    left: object
    right: object


class Mode(enum.Enum):
    FAST = 1


@program
def functions_and_operators(torch):
    def f(x):
        return torch.relu(x) + 1

    return f


@program
def all_operators(torch):
    def f(x, y):
        a = x + y - y * x / y // x % y
        b = (x**2) @ (2**y) @ (-x)
        c = (x & y) | (~x ^ y)
        d = (x << 1) >> y
        return a, b, c, d, x < y, x <= y, x > y, x >= y, x == y, x != y, +x, abs(x), 1 - x, 2 / y, 3 // x, 4 % y, 1 << x

    return f


@program
def inplace_operators(torch):
    def f(x):
        x += 1
        x *= 2
        x.add_(3)
        torch.relu_(x)
        return x

    return f


@program
def star_arguments(torch):
    def f(x, y=3, *args, **kwargs):
        return x * y + args[0] + kwargs["a"]

    return f


@program
def keyword_only(torch):
    def f(x, *, k=2):
        return torch.cat([x, x], dim=k)

    return f


@program
def annotated(torch):
    def f(x: torch.Tensor, flag: bool = False, n: int = 1) -> torch.Tensor:
        return x.view(-1, 2).sum(dim=0, keepdim=True)

    return f


@program
def generic_annotations(torch):
    def f(x: list[torch.Tensor], y: dict[str, int], z: torch.Tensor | None = None) -> tuple[torch.Tensor, ...]:
        return (x[0], y["a"])

    return f


@program
def slices(torch):
    def f(x):
        return x[1:], x[:, None, ..., 0], x[::2, -1], x[1 : x.size(0)], x[x > 0], x[[0, 1]], x[{"a": 1}]

    return f


@program
def unpacking(torch):
    def f(x):
        a, b = x.chunk(2)
        (c, d), e = a.split([2, 1])
        return a * b + c + d + e

    return f


@program
def nested_results(torch):
    def f(x):
        return {"a": x.shape[0], "b": [x, (x,)], "c": (x, {"d": None})}

    return f


@program
def nested_arguments(torch):
    def f(x, y):
        return torch.stack([x, torch.cat((x, y), 0)]), torch.einsum("ij,kj->ik", x, y)

    return f


@program
def constants(torch):
    def f(x):
        x = x.to(torch.float64).type(torch.int64)
        return x.to(device=torch.device("cpu"), memory_format=torch.channels_last) + float("inf") + float("nan") + 1e-8 + 2j

    return f


@program
def constant_tensors(torch):
    weight = torch.tensor([1.0, 2.0])

    def f(x):
        return x + weight + torch.full((2,), float("inf"), dtype=torch.float32), x * torch.ones(2), x @ weight

    return f


@program
def factories_of_shapes(torch):
    def f(x):
        return torch.zeros(x.shape), torch.ones(x.size(0), dtype=torch.int64), torch.arange(x.shape[0]), torch.zeros_like(x)

    return f


@program
def attributes(torch):
    def f(x):
        return x.shape, x.T, x.dtype, x.device, x.a.b.c(1).d, getattr(x, "grad", None), getattr(x, "H")  # noqa: B009

    return f


@program
def dunder_methods(torch):
    def f(x):
        return x.__add__(1), x.__getitem__(0), x.__and__(2), x.__neg__()

    return f


@program
def names_that_are_taken(torch):
    def f(input, lambda_, max=1, self_=2, x_1=3):
        sum = input.sum() + max
        return torch.max(sum, lambda_) + torch.max(x_1) + self_

    return f


@program
def shadowed_names(torch):
    def f(x, relu, torch_):
        add = torch.relu(x)
        return add + relu + torch.relu(add) + torch_

    return f


@program
def aten_operators(torch):
    def f(x):
        a = torch.ops.aten.add.Tensor(x, 1, alpha=2)
        return torch.ops.aten.relu(a), torch.ops.aten.native_layer_norm.default(a, [2], None, None, 1e-5)[0]

    return f


@program
def nn_functional(torch):
    F = torch.nn.functional

    def f(x):
        return [
            F.relu(x), F.relu(x, True), F.softmax(x, -1), F.log_softmax(x, dim=1), F.dropout(x, 0.1), F.gelu(x),
            F.cross_entropy(x, x), F.mse_loss(x, x, reduction="sum"), F.interpolate(x, scale_factor=2),
            F.layer_norm(x, [2]), F.batch_norm(x, x, x), F.max_pool2d(x, 2), F.adaptive_avg_pool2d(x, 1),
            F.linear(x, x), F.conv2d(x, x, stride=2), F.pad(x, (1, 1)), F.embedding(x, x), F.one_hot(x),
            F.normalize(x), F.leaky_relu(x, 0.2), F.elu(x), F.silu(x), F.scaled_dot_product_attention(x, x, x),
            F.binary_cross_entropy_with_logits(x, x), F.nll_loss(x, x), F.group_norm(x, 2),
        ]  # fmt: skip

    return f


@program
def other_namespaces(torch):
    def f(x):
        return torch.fft.fft(x), torch.linalg.norm(x, ord=2), torch.special.erf(x), torch.linalg.inv(x)

    return f


@program
def python_functions(torch):
    def f(x):
        return torch.einsum("ii", x), torch.meshgrid(x, x, indexing="ij")

    return f


@program
def math_functions(torch):
    def f(x):
        return math.sqrt(x.item()) + math.floor(x.size(0))

    return f


@program
def branches_on_constants(torch):
    def f(x, mode="train"):
        for i in range(3):
            x = x * i if i % 2 else x + i
        return x

    return f


@program
def named_tuples(torch):
    def f(x):
        return torch.cat(Pair(x, x))

    return f


@program
def enumerations(torch):
    def f(x):
        return x.method(Mode.FAST, kind=Mode.FAST)

    return f


@program
def unused_and_repeated(torch):
    def f(x, unused):
        torch.exp(x)
        y = x + x
        return y, y, x

    return f


@program
def parameters_and_buffers(torch):
    class M(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.linear = torch.nn.Linear(2, 2)
            self.weight = torch.nn.Parameter(torch.ones(2))
            self.register_buffer("buffer", torch.ones(2))
            self.plain = torch.ones(2)

        def forward(self, x):
            return self.linear(x) + self.weight + self.buffer + self.plain + self.linear.weight + self.weight

    return M()


@program
def nested_modules(torch):
    class Inner(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = torch.nn.ModuleList([torch.nn.Linear(2, 2) for _ in range(2)])
            self.scale = torch.nn.Parameter(torch.ones(()))

        def forward(self, x, power=1):
            for layer in self.layers:
                x = layer(x)
            return x * self.scale**power

    class M(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = Inner()
            self.blocks = torch.nn.Sequential(torch.nn.Conv2d(1, 1, 1), torch.nn.ReLU(), Inner())
            self.by_name = torch.nn.ModuleDict({"a": torch.nn.Tanh()})

        def forward(self, x):
            return self.by_name["a"](self.blocks(self.inner(x, power=2)) + self.inner(x))

    return M()


@program
def layers(torch):
    nn = torch.nn
    return nn.Sequential(
        nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Dropout(), nn.LazyLinear(3)
    )


@program
def residual(torch):
    nn = torch.nn

    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv = nn.Conv2d(1, 1, 3, padding=1)
            self.norm = nn.BatchNorm2d(1)

        def forward(self, x):
            return torch.relu(x + self.norm(self.conv(x)))

    return nn.Sequential(Block(), Block())


@program
def attention(torch):
    class Attention(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.project = torch.nn.Linear(4, 12)

        def forward(self, x):
            b, t, c = x.size()
            q, k, v = self.project(x).split(4, dim=2)
            q = q.view(b, t, 2, c // 2).transpose(1, 2)
            weights = (q @ k.view(b, t, 2, 2).permute(0, 2, 3, 1)) * (1.0 / math.sqrt(2))
            weights = weights.masked_fill(torch.tril(torch.ones(3, 3)) == 0, float("-inf"))
            weights = torch.nn.functional.softmax(weights, dim=-1)
            return (weights @ v.view(b, t, 2, 2).transpose(1, 2)).transpose(1, 2).contiguous().view(b, t, c)

    return Attention()


@program
def call_of_a_value(torch):
    def f(x):
        return x(1, k=2)

    return f


@program
def getattr_chains_as_methods(torch):
    def f(x):
        shape = x.shape
        return x.reshape(shape[0], *(-1, 2)), x.new_zeros(shape), x.sum().item()

    return f


@program
def modules_as_arguments(torch):
    class M(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.a = torch.nn.Linear(2, 2)

        def forward(self, x):
            return torch.cat([self.a.weight, self.a.bias[None], x])

    return M()
