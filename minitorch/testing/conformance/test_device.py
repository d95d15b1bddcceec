"""The device's name, module and place; and how its tensors print."""

import pytest

import minitorch
from minitorch.testing.conformance.helpers import backend_module, check_equal, net, numbers, only_for_backends


def test_names(device):
    assert minitorch.device(str(device)) == device
    x = minitorch.zeros(2, device=device)
    assert x.device == device
    assert x.get_device() == (device.index if device.index is not None else -1)
    assert minitorch.zeros(2).to(device).device == device
    assert getattr(x, f"is_{device.type}")
    assert getattr(minitorch.zeros(2), device.type)().device.type == device.type


def test_the_module(device):
    only_for_backends(device)
    module = backend_module(device)
    assert module.is_available()
    count, index = module.device_count(), device.index or 0
    assert count > index
    before = module.current_device()
    with module.device(index):
        assert module.current_device() == index
        assert minitorch.zeros(1, device=device.type).device == device
    assert module.current_device() == before
    module.set_device(device)
    assert module.current_device() == index
    module.set_device(before)
    module.synchronize()
    module.synchronize(device)
    with pytest.raises(RuntimeError):
        module.set_device(count)
    with pytest.raises(RuntimeError):
        minitorch.zeros(1, device=f"{device.type}:{count}")


def test_each_of_several_devices(device):
    only_for_backends(device)
    count = backend_module(device).device_count()
    if count < 2:
        pytest.skip("there is one device")
    first, second = (minitorch.device(device.type, i) for i in (0, 1))
    x, y = numbers(2, 3).to(first), numbers(2, 3).to(second)
    assert (y * 2).device == second
    check_equal(y.to(first) + x, 2 * numbers(2, 3), first)
    with pytest.raises(RuntimeError, match="same device"):
        x + y


def test_streams(device):
    only_for_backends(device)
    module = backend_module(device)
    try:
        stream, event = module.Stream(), module.Event()
    except AttributeError:
        pytest.skip("the device has no streams")
    x = numbers(64, 64).to(device)
    stream.wait_stream(module.current_stream())
    with module.stream(stream):
        y = x * 2 + 1
        event.record(stream)
    event.synchronize()
    assert event.query()
    module.current_stream().wait_stream(stream)
    check_equal(y, numbers(64, 64) * 2 + 1, device)


def test_tensors_of_two_devices_do_not_mix(device):
    only_for_backends(device)
    x = numbers(2, 3).to(device)
    with pytest.raises(RuntimeError, match="same device"):
        x + numbers(2, 3)
    with pytest.raises(RuntimeError, match="same device"):
        x @ numbers(3, 2)
    check_equal(x * minitorch.tensor(2.0), 2 * numbers(2, 3), device)
    check_equal(x[minitorch.tensor([1, 0])], numbers(2, 3)[[1, 0]], device)


def test_the_default_device(device):
    only_for_backends(device)
    with device:
        assert minitorch.ones(2).device == device
        assert minitorch.tensor([1, 2]).device == device
        assert minitorch.nn.Linear(2, 2).weight.device == device
    assert minitorch.ones(2).device.type == "cpu"


def test_modules_move(device):
    model = net().to(device)
    assert {p.device for p in model.parameters()} == {device}
    check_equal(model(numbers(2, 1, 4, 4).to(device) / 23), net()(numbers(2, 1, 4, 4) / 23), device, 10.0)
    assert {p.device.type for p in model.cpu().parameters()} == {"cpu"}


@pytest.mark.parametrize("shape", [(), (0,), (3,), (2, 3), (1200,)])
def test_printing(device, shape):
    x = numbers(*shape) / 7
    there = x.to(device)
    if device.type == "cpu":
        assert repr(there) == repr(x)
        return
    assert f"device='{device}'" in repr(there)
    plain = "".join(repr(there).replace(f"device='{device}'", "").split()).replace(",)", ")").replace(",,", ",")
    assert plain == "".join(repr(x).split())


def test_numbers_of_tensors(device):
    x = numbers(3).to(device)
    assert x.tolist() == numbers(3).tolist()
    assert x[1].item() == float(x[1]) == numbers(3)[1].item()
    assert int(x.long()[0]) == int(numbers(3)[0])
    assert bool((x > 0).all())
    assert [v.item() for v in x] == numbers(3).tolist()
    assert len(x) == 3
    with pytest.raises(RuntimeError):
        x.item()
