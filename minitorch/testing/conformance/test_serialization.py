"""Files, pickles and copies of tensors of a device."""

import copy
import io
import pickle

import minitorch
from minitorch.testing.conformance.helpers import check_equal, dtypes_of, net, numbers


def saved(value):
    file = io.BytesIO()
    minitorch.save(value, file)
    file.seek(0)
    return file


def test_files_of_every_dtype(device):
    for dtype in dtypes_of(device):
        x = numbers(2, 3, dtype=dtype)
        check_equal(minitorch.load(saved(x.to(device))), x, device)


def test_views_share_memory_after_a_file(device):
    x = numbers(3, 4).to(device)
    whole, row, turned = minitorch.load(saved([x, x[1], x.t()]))
    row.zero_()
    wanted = numbers(3, 4)
    wanted[1] = 0
    check_equal(whole, wanted, device)
    check_equal(turned, wanted.t().contiguous(), device)


def test_map_location(device):
    cpu = minitorch.device("cpu")
    x = numbers(2, 3)
    for where in ("cpu", cpu, {str(device): "cpu"}, lambda storage, place: storage.cpu() if device.type != "cpu" else storage):
        check_equal(minitorch.load(saved(x.to(device)), map_location=where), x, cpu)
    check_equal(minitorch.load(saved(x), map_location=str(device)), x, device)
    check_equal(minitorch.load(saved(x), map_location=device), x, device)


def test_pickle_and_deepcopy(device):
    x = numbers(2, 3).to(device).requires_grad_()
    for made in (pickle.loads(pickle.dumps(x)), copy.deepcopy(x)):
        check_equal(made, numbers(2, 3), device)
        assert made.requires_grad
        with minitorch.no_grad():
            made.zero_()
    check_equal(x, numbers(2, 3), device)
    pair = [x.detach(), x.detach()[0]]
    whole, row = copy.deepcopy(pair)
    row.zero_()
    assert whole[0].sum().item() == 0


def test_modules_and_optimizers(device):
    model = net().to(device)
    rule = minitorch.optim.Adam(model.parameters(), lr=0.01)
    model(numbers(2, 1, 4, 4).to(device)).sum().backward()
    rule.step()
    file = saved({"model": model.state_dict(), "rule": rule.state_dict()})
    found = minitorch.load(file)
    other = net().to(device)
    other.load_state_dict(found["model"])
    again = minitorch.optim.Adam(other.parameters(), lr=0.01)
    again.load_state_dict(found["rule"])
    for mine, its in zip(other.parameters(), model.parameters(), strict=True):
        check_equal(mine, its.detach().cpu(), device)
    for part, optimizer in ((model, rule), (other, again)):
        optimizer.zero_grad()
        part(numbers(2, 1, 4, 4).to(device)).sum().backward()
        optimizer.step()
    for mine, its in zip(other.parameters(), model.parameters(), strict=True):
        check_equal(mine, its.detach().cpu(), device, 1.0)
    file.seek(0)
    assert all(t.device.type == "cpu" for t in minitorch.load(file, map_location="cpu")["model"].values())
