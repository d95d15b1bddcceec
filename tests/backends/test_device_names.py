"""Names of devices: keys, modules and methods; backends that are imported at their first use, and plug-ins."""

from __future__ import annotations

import subprocess
import sys
import types

import pytest
from fresh import in_fresh_process, run_python
from toy_backend import ToyBackend, register_toy

import minitorch
from minitorch.backends import register_backend, register_lazy_backend, registered_backends
from minitorch.dispatch.introspect import has_kernel_for_dispatch_key


@in_fresh_process
def test_backends_take_the_free_keys_in_turn():
    names = ["one", "two", "three", "four", "five"]
    keys = [register_backend(name, ToyBackend()).key for name in names]
    assert keys == ["PrivateUse1", "PrivateUse2", "PrivateUse3", "MAIA", "MTIA"]
    minitorch.backends.fallback_policy("allow")
    for name in names:
        x = minitorch.ones(2, device=name, requires_grad=True)
        assert str(x.device) == f"{name}:0"
        (x * 3).sum().backward()
        assert x.grad.device is x.device
        assert x.grad.tolist() == [3.0, 3.0]
    assert minitorch.ones(2).one().to("two").to("five").tolist() == [1.0, 1.0]
    assert minitorch.ones(2).two().copy_(minitorch.zeros(2).one()).tolist() == [0.0, 0.0]
    assert minitorch.ones(2).one().copy_(minitorch.zeros(2).two()).tolist() == [0.0, 0.0]
    with pytest.raises(RuntimeError, match="found at least two devices, one:0 and two:0"):
        minitorch.ones(2).one() + minitorch.ones(2).two()
    assert list(registered_backends()) == names
    assert minitorch.device("privateusetwo") is minitorch.device("two")
    with pytest.raises(RuntimeError, match="the key PrivateUse1 belongs to the backend of 'one'"):
        register_backend("six", ToyBackend(), "PrivateUse1")
    with pytest.raises(RuntimeError, match="'CPU' is the key of no backend that can be written"):
        register_backend("six", ToyBackend(), "CPU")


@in_fresh_process
def test_a_key_may_be_given_and_a_known_type_has_its_own():
    assert register_backend("mine", ToyBackend(), "XPU").key == "XPU"
    assert minitorch.ones(2).mine().key_set & minitorch.ones(2).key_set
    assert register_backend("hpu", ToyBackend()).key == "HPU"
    assert minitorch.ones(2).to("hpu").is_hpu


@in_fresh_process
def test_pytorch_s_separate_calls():
    from minitorch.utils import generate_methods_for_privateuse1_backend, rename_privateuse1_backend

    with pytest.raises(RuntimeError, match="Expected one of cpu, cuda"):
        minitorch.device("npu")
    rename_privateuse1_backend("npu")
    rename_privateuse1_backend("npu")  # the same name again does nothing
    with pytest.raises(RuntimeError, match="has already been set! Current backend: npu"):
        rename_privateuse1_backend("other")
    assert minitorch.device("npu:1") is minitorch.device("privateuseone:1")
    assert str(minitorch.device("privateuseone:1")) == "npu:1"
    with pytest.raises(RuntimeError, match=r"does not have a corresponding module registered as 'minitorch\.npu'"):
        minitorch.get_device_module("npu")
    module = types.ModuleType("npu_module")
    seeds = []
    module.manual_seed_all = seeds.append
    minitorch._register_device_module("npu", module)
    assert minitorch.npu is minitorch.get_device_module("npu:0") is sys.modules["minitorch.npu"] is module
    minitorch.manual_seed(4)
    assert seeds == [4]
    module._is_in_bad_fork = lambda: True
    minitorch.manual_seed(5)
    assert seeds == [4]
    with pytest.raises(RuntimeError, match="has already been registered"):
        minitorch._register_device_module("npu", module)
    with pytest.raises(RuntimeError, match="Expected one of"):
        minitorch._register_device_module("nothing", module)
    with pytest.raises(RuntimeError, match="without the methods of tensors"):
        generate_methods_for_privateuse1_backend(for_tensor=False)
    generate_methods_for_privateuse1_backend(for_storage=True)
    with pytest.raises(RuntimeError, match="has already been registered"):
        generate_methods_for_privateuse1_backend()
    x = minitorch.ones(2)
    assert not x.is_npu
    assert not x.untyped_storage().is_npu
    assert hasattr(minitorch.nn.Module, "npu")
    from minitorch.nn.utils.rnn import PackedSequence

    assert hasattr(PackedSequence, "npu")
    with pytest.raises(minitorch.backends.lazy.DeviceUnavailable, match="no backend for the device 'npu'"):
        x.npu()
    assert register_backend("npu", ToyBackend()).key == "PrivateUse1"
    assert x.npu().is_npu
    assert x.untyped_storage().npu().device == minitorch.device("npu:0")
    with pytest.raises(ValueError, match="Expected a device of type npu, but got cpu"):
        x.npu("cpu")


@in_fresh_process
def test_the_device_module_and_the_accelerator():
    assert minitorch.accelerator.current_accelerator() is None
    with pytest.raises(RuntimeError, match="Cannot access accelerator device"):
        minitorch.accelerator.current_device_index()
    backend = register_toy(devices=2)
    backend.device_functions = {"memory_allocated": lambda: 17}
    backend.autocast_dtypes = (minitorch.float16,)
    import minitorch.toy as toy

    assert toy is minitorch.toy
    assert (toy.is_available(), toy.device_count(), toy.current_device(), toy.is_initialized()) == (True, 2, 0, True)
    assert toy.memory_allocated() == 17
    assert toy.get_amp_supported_dtype() == [minitorch.float16]
    with pytest.raises(AttributeError, match="ToyBackend has it not among its device_functions"):
        toy.memory_reserved()
    toy.synchronize()
    toy.manual_seed(3)
    state = toy.get_rng_state()
    assert toy.initial_seed() == 3
    toy.manual_seed_all(4)
    assert (toy.initial_seed(), backend.default_generator(1).initial_seed()) == (4, 4)
    toy.set_rng_state(state)
    assert toy.initial_seed() == 3
    accelerator = minitorch.accelerator
    assert accelerator.current_accelerator() == minitorch.device("toy")
    assert minitorch.get_device_module() is toy
    assert (accelerator.is_available(), accelerator.device_count()) == (True, 2)
    with accelerator.device_index(1):
        assert accelerator.current_device_index() == 1
    accelerator.set_device_index(1)
    assert toy.current_device() == 1
    assert minitorch.device(0) == minitorch.device("toy:0")
    with pytest.raises(ValueError, match="expected a device of type toy"):
        toy.set_device("cpu")


@in_fresh_process
def test_a_lazy_backend_is_imported_at_its_first_use():
    source = types.ModuleType("lazy_toy")
    source.register = lambda: (loads.append(1), register_backend("sleepy", ToyBackend(), "MAIA"))
    loads = []
    sys.modules["lazy_toy"] = source
    register_lazy_backend("sleepy", "MAIA", "lazy_toy:register")
    assert str(minitorch.device("sleepy:1")) == "sleepy:1"
    assert hasattr(minitorch.Tensor, "sleepy")
    assert not minitorch.sleepy.is_initialized()
    minitorch.manual_seed(9)
    assert not loads
    with minitorch.backends.fallback_policy("allow"):
        assert minitorch.zeros(2, device="sleepy").is_sleepy
        assert minitorch.ones(2).sleepy().tolist() == [1.0, 1.0]
    assert minitorch.Generator("sleepy").device == minitorch.device("sleepy:0")
    assert minitorch.sleepy.initial_seed() == 9  # seeded before it was there
    assert loads == [1]
    assert minitorch.nn.Linear(1, 1).sleepy().weight.is_sleepy


@in_fresh_process
def test_a_lazy_backend_of_the_private_key():
    source = types.ModuleType("lazy_toy")
    source.register = lambda: register_backend("sleepy", ToyBackend(), "PrivateUse1")
    sys.modules["lazy_toy"] = source
    register_lazy_backend("sleepy", "PrivateUse1", "lazy_toy:register")
    assert minitorch.zeros(2, device="privateuseone").is_sleepy
    with pytest.raises(RuntimeError, match="already been set! Current backend: sleepy"):
        register_lazy_backend("other", "PrivateUse1", "elsewhere:register")


@in_fresh_process
def test_a_lazy_backend_that_cannot_be_loaded_says_what_to_install():
    register_lazy_backend("absent", "MAIA", "no_such_library_anywhere:register", install="Type: pip install something.")
    assert not minitorch.absent.is_available()
    assert minitorch.absent.device_count() == 0
    for use in (
        lambda: minitorch.ones(2).to("absent"), lambda: minitorch.ones(2).absent(), lambda: minitorch.zeros(2, device="absent"),
        lambda: minitorch.Generator("absent"), lambda: minitorch.absent.current_device(),
        lambda: minitorch.tensor(1, device="absent"),
    ):  # fmt: skip
        with pytest.raises(minitorch.backends.lazy.DeviceUnavailable, match="pip install something") as caught:
            use()
        assert len(str(caught.value)) < 300
    module = types.ModuleType("broken_toy")
    exec("def register():\n    import no_such_library_anywhere", module.__dict__)
    sys.modules["broken_toy"] = module
    register_lazy_backend("broken", "MTIA", "broken_toy:register", install="Type: pip install it.")
    with pytest.raises(minitorch.backends.lazy.DeviceUnavailable, match="needs no_such_library_anywhere, which is not installed"):
        minitorch.ones(2).to("broken")


def test_a_name_that_means_something_else_is_refused():
    for name in ("half", "sum", "nn", "is_floating_point"):
        with pytest.raises(RuntimeError, match=f"the name '{name}' cannot be a device's: minitorch"):
            register_backend(name, ToyBackend())
        with pytest.raises(RuntimeError, match=f"the name '{name}' cannot be a device's: minitorch"):
            register_lazy_backend(name, "MAIA", "somewhere:register")
        with pytest.raises(RuntimeError, match="Expected one of"):
            minitorch.device(name)


@pytest.mark.parametrize("name", ["cuda", "mps", "privateusethree"])
def test_a_device_without_a_backend_says_so_in_a_line(name):
    assert not has_kernel_for_dispatch_key("aten::empty.memory_format", minitorch.device(name).key_name)
    for kind in (NotImplementedError, AssertionError):
        with pytest.raises(kind, match=f"there is no backend for the device '{name}'") as caught:
            minitorch.ones(2).to(name)
        assert len(str(caught.value)) < 400
    with pytest.raises(NotImplementedError, match="there is no backend"):
        minitorch.zeros(2, device=name)


@pytest.mark.oracle
def test_the_error_for_cuda_is_of_pytorch_s_type(torch):
    if torch.cuda.is_available():
        pytest.skip("PyTorch has a CUDA device here")
    with pytest.raises(Exception) as theirs:
        torch.ones(2).to("cuda")
    with pytest.raises(theirs.type):
        minitorch.ones(2).to("cuda")


# ---------------------------------------------------------------- plug-ins

PLUG_IN = """
[minitorch.backends]
good = plug:register
bad = plug:fail
"""


@pytest.fixture
def plug_ins(tmp_path):
    """A folder that looks like one where a distribution with two plug-ins is installed."""
    info = tmp_path / "plug-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: plug\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(PLUG_IN)
    (tmp_path / "plug.py").write_text(
        "def register():\n    import toy_backend\n    toy_backend.register_toy()\n"
        "def fail():\n    raise OSError('no such card')\n"
    )
    return str(tmp_path)


def run_with_path(folder: str, code: str, **environment: str) -> subprocess.CompletedProcess:
    return run_python(f"import sys; sys.path.insert(0, {folder!r})\n{code}", **environment)


def test_plug_ins_are_loaded_at_import_and_a_broken_one_is_named(plug_ins):
    code = (
        "import warnings\nwith warnings.catch_warnings(record=True) as caught:\n    warnings.simplefilter('always')\n"
        "    import minitorch\nprint(minitorch.ones(2).toy().device)\nprint(*[w.message for w in caught])"
    )
    done = run_with_path(plug_ins, code)
    assert done.returncode == 0, done.stderr
    device, text = done.stdout.splitlines()
    assert device == "toy:0"
    assert "plug-in 'bad' (plug:fail) failed to load: OSError: no such card" in text
    assert "MINITORCH_DEVICE_BACKEND_AUTOLOAD=0" in text


def test_plug_ins_are_not_loaded_when_switched_off(plug_ins):
    code = "import minitorch; print(hasattr(minitorch.Tensor, 'toy'))"
    done = run_with_path(plug_ins, code, MINITORCH_DEVICE_BACKEND_AUTOLOAD="0")
    assert (done.returncode, done.stdout.strip()) == (0, "False")


def test_diagnose_works_where_there_is_no_driver():
    """As the first thing that is asked of the device, without the library that it needs."""
    code = "import sys; sys.modules['pyopencl'] = None; import minitorch; minitorch.opencl.diagnose()"
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert "Devices: none" in done.stdout
    assert "pip install" in done.stdout
    code = "import sys; sys.modules['pyopencl'] = None; import minitorch\ntry: minitorch.ones(2, device='opencl')\n"
    code += "except RuntimeError as error: print(error)"
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert "needs PyOpenCL, which is not installed" in done.stdout
