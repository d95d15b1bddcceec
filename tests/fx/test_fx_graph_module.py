"""Graph modules: their code, their attributes, copies and files."""

from __future__ import annotations

import copy
import io
import math
import operator
import pickle
import subprocess
import sys

import pytest

import minitorch
from minitorch import fx, nn


def double(x):
    return x + x


def code_of(function, **options):
    return fx.symbolic_trace(function, **options).code.strip("\n ")


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(3, 4), nn.ReLU())
        self.weight = nn.Parameter(minitorch.ones(4))
        self.register_buffer("shift", minitorch.ones(4))

    def forward(self, x):
        return minitorch.cat([self.layers(x) * self.weight, double(x @ minitorch.ones(3, 4)) + self.shift], dim=-1)


def test_code():
    module = fx.symbolic_trace(Model())
    assert module.code == (
        "\n\n\n"
        "def forward(self, x):\n"
        '    layers_0 = getattr(self.layers, "0")(x)\n'
        '    layers_1 = getattr(self.layers, "1")(layers_0);  layers_0 = None\n'
        "    weight = self.weight\n"
        "    mul = layers_1 * weight;  layers_1 = weight = None\n"
        "    _tensor_constant0 = self._tensor_constant0\n"
        "    matmul = x @ _tensor_constant0;  x = _tensor_constant0 = None\n"
        "    add = matmul + matmul;  matmul = None\n"
        "    shift = self.shift\n"
        "    add_1 = add + shift;  add = shift = None\n"
        "    cat = torch.cat([mul, add_1], dim = -1);  mul = add_1 = None\n"
        "    return cat\n"
        "    "
    )


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (lambda x: x.to(minitorch.float16), "x.to(torch.float16)"),
        (lambda x: x.to(minitorch.device("meta", 1)), "x.to(device(type='meta', index=1))"),
        (lambda x: x.contiguous(memory_format=minitorch.channels_last), "memory_format = torch.channels_last"),
        (lambda x: minitorch.full_like(x, math.inf), "torch.full_like(x, inf)"),
        (lambda x: x.clamp(-math.inf, math.nan), "x.clamp(-inf, nan)"),
        (lambda x: minitorch.ops.aten.add.Tensor(x, 1), "torch.ops.aten.add.Tensor(x, 1)"),
        (lambda x: minitorch.zeros(x.shape, layout=minitorch.strided), "layout = torch.strided"),
        (lambda x: nn.functional.gelu(x, approximate="tanh"), "torch.nn.functional.gelu(x, approximate = 'tanh')"),
        (lambda x: x[..., None, 1:2], "x[(Ellipsis, None, slice(1, 2, None))]"),
        (lambda x: x.f((1,), [], {}, {"a": (x,)}, True, 1j), "x.f((1,), [], {}, {'a': (x,)}, True, 1j)"),
        (lambda x: x.f(minitorch.Size([1, 2])), "x.f((1, 2))"),
        (lambda x: minitorch.ones(2) + x, "torch.add(_tensor_constant0, x)"),
        (lambda x: minitorch.linalg.norm(x) + minitorch.fft.fft(x), "torch.linalg.norm(x)"),
        (lambda x: minitorch.Tensor.add(x, 1), "x.add(1)"),
    ],
)
def test_arguments_in_code(function, expected):
    assert expected in code_of(function)


def test_functions_of_other_modules_are_globals():
    graph = fx.Graph()
    x = graph.placeholder("double")
    graph.output(graph.call_function(double, (graph.call_function(math.sqrt, (x,)),)))
    module = fx.GraphModule({}, graph)
    assert f"{__name__.replace('.', '_')}_double(sqrt)" in module.code
    assert "math_sqrt(double)" in module.code
    assert module(4) == 4.0


def test_every_public_function_goes_by_its_name():
    """Each function that a user can call is printed so that the code finds that very function again."""
    spaces = [minitorch, nn.functional, minitorch.linalg, minitorch.fft, minitorch.special, nn.init]
    checked = 0
    for space in spaces:
        for value in list(vars(space).values()):
            if not callable(value) or isinstance(value, type) or getattr(value, "__name__", "__").startswith("__"):
                continue
            if not str(getattr(value, "__module__", "")).startswith("minitorch"):
                continue
            name = fx.naming.qualified_name(value)
            assert eval(name, {"torch": minitorch}) is value, name
            checked += 1
    assert checked > 800


def test_recompile_and_setting_the_graph():
    module = fx.symbolic_trace(lambda x: minitorch.relu(x))
    (relu,) = module.graph.find_nodes(op="call_function", target=minitorch.relu)
    relu.target = minitorch.neg
    x = minitorch.tensor([-1.0, 2.0])
    assert module(x).tolist() == [0.0, 2.0]
    module.recompile()
    assert module(x).tolist() == [1.0, -2.0]
    graph = fx.Graph()
    graph.output(graph.placeholder("x"))
    module.graph = graph
    assert module(x) is x
    assert graph.owning_module is module
    with pytest.raises(AssertionError, match="Expected a Graph instance, but got str"):
        module.graph = "x"


def test_classes_are_of_one_module_each():
    a, b = fx.symbolic_trace(lambda x: x + 1), fx.symbolic_trace(lambda x: x + 2)
    assert (a(1), b(1)) == (2, 3)
    assert isinstance(a, fx.GraphModule)
    assert type(a) is not type(b)

    class Own(fx.GraphModule):
        extra = 7

    own = Own({}, a.graph, "Named")
    assert (own.extra, type(own).__name__, repr(own)) == (7, "Named", "Named()")
    assert isinstance(copy.deepcopy(own), Own)


def test_attributes_are_shared_with_the_root():
    model = Model().eval()
    module = fx.symbolic_trace(model)
    assert module.get_submodule("layers.0") is model.layers[0]
    assert module.weight is model.weight
    assert module.shift is model.shift
    assert not module.training
    assert set(model.state_dict()) <= set(module.state_dict())
    x = minitorch.randn(2, 3)
    assert minitorch.equal(module(x), model(x))
    module(x).sum().backward()
    assert model.weight.grad is not None


def test_attributes_from_a_dictionary():
    graph = fx.Graph()
    x = graph.placeholder("x")
    weight = graph.get_attr("a.weight")
    graph.output((graph.call_module("a.b", (x,)), weight))
    weight = minitorch.ones(2)
    module = fx.GraphModule({"a.weight": weight, "a.b": nn.ReLU()}, graph)
    assert module.a.weight is weight
    assert list(module.state_dict()) == ["a.weight"]
    with pytest.raises(RuntimeError, match="references target a.weight but that target was not provided in ``root``"):
        fx.GraphModule({"a.b": nn.ReLU()}, graph)
    with pytest.raises(RuntimeError, match="root must be a Module or a dict, got int"):
        fx.GraphModule(3, graph)


def test_deepcopy():
    module = fx.symbolic_trace(Model())
    module.meta["note"] = [1]
    module.other = {"a": 1}
    list(module.graph.nodes)[1].meta["val"] = "kept"
    copied = copy.deepcopy(module)
    assert copied.code == module.code
    assert copied.weight is not module.weight
    assert copied.get_submodule("layers.0").weight is not module.get_submodule("layers.0").weight
    assert (copied.meta, copied.other) == ({"note": [1]}, {"a": 1})
    assert list(copied.graph.nodes)[1].meta["val"] == "kept"
    x = minitorch.randn(2, 3)
    assert minitorch.equal(copied(x), module(x))
    copied.graph.find_nodes(op="call_function", target=operator.mul)[0].target = operator.sub
    copied.recompile()
    assert "layers_1 * weight" in module.code
    assert not minitorch.equal(copied(x), module(x))
    shallow = copy.copy(module)
    assert shallow.weight is module.weight
    assert minitorch.equal(shallow(x), module(x))


@pytest.mark.parametrize("way", ["pickle", "save"])
def test_files(way):
    module = fx.symbolic_trace(Model())
    module.graph.find_nodes(op="call_function", target=minitorch.cat)[0].meta["stack_trace"] = "somewhere"
    if way == "pickle":
        read = pickle.loads(pickle.dumps(module))
    else:
        file = io.BytesIO()
        minitorch.save(module, file)
        file.seek(0)
        read = minitorch.load(file, weights_only=False)
    assert (read.code, str(read.graph)) == (module.code, str(module.graph))
    assert read.graph.find_nodes(op="call_function", target=minitorch.cat)[0].stack_trace == "somewhere"
    assert list(read.state_dict()) == list(module.state_dict())
    x = minitorch.randn(2, 3)
    assert minitorch.equal(read(x), module(x))
    assert type(read).__name__ == "Model"


def test_files_keep_steps_that_have_no_inputs():
    graph = fx.Graph()
    x = graph.placeholder("x", default_value=minitorch.float32)
    ones = graph.call_function(minitorch.ops.aten.ones.default, ([2],), {"dtype": minitorch.float64})
    rand = graph.call_function(minitorch.rand, (2,), {"device": minitorch.device("cpu")})
    graph.output([{"a": graph.call_function(double, (ones,))}, slice(None, rand), minitorch.ops.aten.relu.default, x])
    module = fx.GraphModule({}, graph)
    read = pickle.loads(pickle.dumps(module))
    assert read.code == module.code
    assert read(1)[0]["a"].dtype is minitorch.float64
    assert read(1)[2] is minitorch.ops.aten.relu.default


def test_files_are_read_in_a_new_process(tmp_path):
    module = fx.symbolic_trace(lambda x: nn.functional.relu(x) + minitorch.tensor([1.0, 2.0]))
    minitorch.save(module, tmp_path / "module.pt")
    script = (
        "import sys, minitorch; m = minitorch.load(sys.argv[1], weights_only=False);"
        "print(m(minitorch.tensor([-1.0, 1.0])).tolist())"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, str(tmp_path / "module.pt")], capture_output=True, text=True, check=False
    )
    assert done.stdout.strip() == "[1.0, 3.0]", done.stderr


def test_to_folder(tmp_path, monkeypatch):
    model = Model()
    module = fx.symbolic_trace(model)
    module.to_folder(tmp_path / "written_model", "Written")
    monkeypatch.syspath_prepend(str(tmp_path))
    from written_model import Written

    x = minitorch.randn(2, 3)
    assert minitorch.equal(Written()(x), model(x))


def test_errors_show_the_line_of_the_generated_code(capsys):
    module = fx.symbolic_trace(lambda x, y: minitorch.relu(x) + y.missing)
    with pytest.raises(AttributeError) as raised:
        module(minitorch.ones(2), 3)
    assert str(raised.traceback[-1].statement).strip() == "getattr_1 = y.missing;  y = None"
    printed = capsys.readouterr().err
    assert "Call using an FX-traced Module, line 6 of the traced Module's generated forward function:" in printed
    assert "getattr_1 = y.missing;  y = None\n~~~~" in printed


def test_errors_of_operators_speak_for_themselves(capsys):
    module = fx.symbolic_trace(lambda x: minitorch.cat([x, 3]))
    with pytest.raises(TypeError):
        module(minitorch.ones(2))
    assert "sqrt" not in capsys.readouterr().err


def test_print_readable(capsys):
    inner = fx.symbolic_trace(lambda x: x * 2)
    graph = fx.Graph()
    x = graph.placeholder("x")
    call = graph.call_module("inner", (x,))
    call.meta["val"] = minitorch.ones(2, 3)
    call.meta["stack_trace"] = 'File "model.py", line 3, in forward\n    return self.inner(x)\n'
    call.meta["seq_nr"] = 5
    graph.output(call)
    module = fx.GraphModule({"inner": inner}, graph, "Outer")
    expected = (
        "class Outer(torch.nn.Module):\n"
        "    def forward(self, x):\n"
        "        # File: model.py:3 in forward, code: return self.inner(x)\n"
        '        inner: "f32[2, 3]" = self.inner(x);  x = None\n'
        "        return inner\n"
        "\n"
        "    class inner(torch.nn.Module):\n"
        "        def forward(self, x):\n"
        "            # No stacktrace found for following nodes\n"
        "            mul = x * 2;  x = None\n"
        "            return mul\n"
    )
    assert module.print_readable() == expected
    assert capsys.readouterr().out == expected + "\n"
    text = module.print_readable(False, include_stride=True, include_device=True, additional_meta=["seq_nr"])
    assert 'inner: "f32[2, 3][3, 1]cpu"' in text
    assert "# seq_nr: 5 # File: model.py:3" in text
    assert "\033[31mf32\033[0m" in module.print_readable(False, colored=True)
    with pytest.raises(TypeError, match="unexpected keyword argument 'colour'"):
        module.print_readable(False, colour=True)
    assert str(module).endswith("# To see more debug info, please use `graph_module.print_readable()`")


def test_submodules_come_and_go():
    module = fx.symbolic_trace(nn.Sequential(nn.Linear(2, 2), nn.ReLU()))
    assert module.add_submodule("a.b.c", nn.Tanh())
    assert module.get_submodule("a.b.c").__class__ is nn.Tanh
    module.x = 3
    assert not module.add_submodule("x.y", nn.Tanh())
    assert not module.delete_submodule("a.missing.c")
    assert not module.delete_submodule("x")
    assert module.delete_submodule("a.b.c")
    assert module.add_submodule("unused", nn.Tanh())
    module.delete_all_unused_submodules()
    assert [name for name, _ in module.named_children()] == ["0", "1"]


def test_code_can_be_rewritten():
    module = fx.symbolic_trace(lambda x: x + 1)
    seen = []
    with module.graph.on_generate_code(lambda current: lambda body: ["print_('start')\n", *body]):
        module.recompile()
        type(module).forward.__globals__["print_"] = seen.append
        assert module(1) == 2
    assert seen == ["start"]
    module.recompile()
    assert "print_" not in module.code


def test_lines_know_their_nodes():
    module = fx.symbolic_trace(lambda x: minitorch.relu(x) + 1)
    lines = module.code.split("\n")
    start = module._prologue_start - 1
    nodes = list(module.graph.nodes)
    found = {lines[start + number].split(" = ")[0].strip(): nodes[i].name for number, i in module._lineno_map.items()}
    assert found["relu"] == "relu"
    assert found["add"] == "add"


def test_a_code_generator_of_ones_own():
    import typing

    class Listed(fx.CodeGen):
        """A function of one list, which returns a list."""

        def gen_fn_def(self, free_vars, maybe_return_annotation):
            head = f"def forward(self, values : List[int]){maybe_return_annotation}:"
            return f"{head}\n    {', '.join(free_vars)}, = values"

        def generate_output(self, output_args):
            return f"return list({output_args!r})"

        def additional_globals(self):
            return [("List", typing.List)]  # noqa: UP006

        def process_inputs(self, *inputs):
            return inputs[0]

        def process_outputs(self, outputs):
            return list(outputs)

    module = fx.symbolic_trace(lambda a, b: (a + b, a - b))
    module.graph.set_codegen(Listed())
    module.recompile()
    assert module([1, 2]) == [3, -1]
    assert fx.Interpreter(module).run([1, 2]) == [3, -1]
    assert copy.deepcopy(module)([1, 2]) == [3, -1]
    assert fx.Transformer(module).transform()([1, 2]) == [3, -1]


def test_inplace_operators_in_code():
    graph = fx.Graph()
    a, b = graph.placeholder("a"), graph.placeholder("b")
    product = graph.call_function(operator.imul, (a, b))
    graph.call_function(operator.setitem, (product, 0, b))
    graph.output(product)
    module = fx.GraphModule({}, graph)
    assert "    a *= b;  imul = a;  a = None\n" in module.code
    assert "    imul[0] = b;  setitem = imul;  b = setitem = None\n" in module.code
    assert module(minitorch.ones(2), 3).tolist() == [3.0, 3.0]


def test_a_traced_model_trains_as_the_model_does():
    def make():
        minitorch.manual_seed(0)
        return nn.Sequential(
            nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Dropout(0.2), nn.Linear(36, 3)
        )

    inputs, labels = minitorch.randn(16, 1, 8, 8), minitorch.randint(3, (16,))
    losses = []
    for model in (make(), fx.symbolic_trace(make())):
        optimizer = minitorch.optim.Adam(model.parameters(), lr=0.05)
        minitorch.manual_seed(1)
        for _ in range(5):
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(model(inputs), labels)
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
    assert losses[:5] == losses[5:]
    assert losses[4] < losses[0]


def test_modules_and_graphs_are_let_go():
    import gc
    import weakref

    module = fx.symbolic_trace(Model())
    module(minitorch.ones(1, 3))
    watched = weakref.ref(module), weakref.ref(module.graph)
    del module
    gc.collect()
    assert [w() for w in watched] == [None, None]


def test_what_is_kept_for_generated_code_is_let_go():
    from minitorch.fx import graph_module, patching

    kept, wrapped = len(graph_module._loader._sources), len(patching._wrapped)
    for _ in range(3):
        fx.symbolic_trace(lambda x: math.sqrt(x)).recompile()
    import gc

    gc.collect()
    assert len(graph_module._loader._sources) <= kept
    assert len(patching._wrapped) <= wrapped


def test_graphs_are_pickled_without_recursion():
    graph = fx.Graph()
    x = graph.placeholder("x")
    for _ in range(3000):
        x = graph.call_function(operator.add, (x, 1))
    graph.output({"a": [x]})
    read = pickle.loads(pickle.dumps(graph))
    assert str(read) == str(graph)
    assert fx.GraphModule({}, read)(1) == {"a": [3001]}


def test_modules_of_nested_arguments_are_pickled():
    def f(batch, flag):
        return {"sum": batch["a"] + batch["b"][0]} if flag else batch

    module = fx.symbolic_trace(f, {"batch": {"a": fx.PH, "b": [fx.PH]}, "flag": True})
    module._replace_hooks.append(lambda **_: None)
    read = pickle.loads(pickle.dumps(module))
    assert read({"a": 1, "b": [2]}, True) == {"sum": 3}
    assert read.code == module.code


def test_the_package_is_loaded_when_it_is_named():
    script = (
        "import sys, minitorch; assert not any(n.startswith('minitorch.fx') for n in sys.modules);"
        "minitorch.fx.symbolic_trace; assert not {'sympy', 'scipy'} & set(sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_traces_with_symbolic_sizes_are_pickled():
    pytest.importorskip("sympy")
    from minitorch.fx.experimental.proxy_tensor import make_fx

    def f(x):
        return x.sum(0) * x.shape[0], minitorch.zeros(x.shape[1])

    module = make_fx(f, tracing_mode="symbolic")(minitorch.randn(2, 3))
    read = pickle.loads(pickle.dumps(module))
    assert read.code == module.code
    x = minitorch.randn(5, 4)
    minitorch.testing.assert_close(read(x), f(x))
    assert ': "f32[s' in module.print_readable(False)
    assert copy.deepcopy(module).code == module.code
