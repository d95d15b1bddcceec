"""Quantize the digits network to 8 bits: after training, and by training.

A network like that of ``digits.py`` is trained in floating point.  Its graph is then quantized: observers see some of the
training images, and weights and activations become 8-bit integers.  A second network is trained with fake quantization
from its first step, and converted.  The numbers that are printed are checked, by the exit status: the accuracy may
fall by at most one point, and the file must be about a quarter of the size.

    python examples/quantize_digits.py --out quantize-demo
    python examples/quantize_digits.py --device opencl

With a device, the quantized network runs there too, and must return the very same numbers.
"""

import argparse
import os
import sys

import minitorch as torch
from minitorch.ao.quantization import get_default_qat_qconfig_mapping, get_default_qconfig_mapping
from minitorch.ao.quantization.quantize_fx import convert_fx, prepare_fx, prepare_qat_fx

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from digits import accuracy, load_digits, make_model, train

POINTS = 1.0  # what the accuracy may fall by, of 100
WIDTH = 256  # of the layer between the linear ones: more weights, beside which names and scales count little
SHARE = 0.265  # of the float file's size: a quarter, and names and scales


def file_size(state, path):
    """Write a state, and return the bytes that it takes."""
    torch.save(state, path)
    return os.path.getsize(path)


def quantize(model, images, batch_size=128):
    """Return a trained network with 8-bit integers in the place of floats, by the ranges that some images have."""
    prepared = prepare_fx(model.eval(), get_default_qconfig_mapping(), (images[:1],))
    with torch.no_grad():
        for start in range(0, len(images), batch_size):
            prepared(images[start : start + batch_size])
    return convert_fx(prepared)


def logits(model, images):
    """Return what a network says of images."""
    with torch.no_grad():
        return model(images)


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cpu", help="cpu, opencl, ...: where the quantized network runs as well")
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--out", default="quantize-demo", help="folder for the two files")
    args = parser.parse_args(argv)
    os.makedirs(args.out, exist_ok=True)

    (images, labels), (test_images, test_labels) = load_digits(torch)
    torch.manual_seed(0)
    model, losses, _ = train(torch, epochs=args.epochs, model=make_model(torch, WIDTH))
    float_accuracy = accuracy(torch, model, test_images, test_labels)
    print(
        f"float32: trained {len(losses)} steps: loss {losses[0]:.3f} to {losses[-1]:.3f}, test accuracy "
        f"{100 * float_accuracy:.2f} %"
    )

    quantized = quantize(model, images[:512])
    int8_accuracy = accuracy(torch, quantized, test_images, test_labels)
    lost = 100 * (float_accuracy - int8_accuracy)
    print(f"int8, quantized after training: test accuracy {100 * int8_accuracy:.2f} % ({-lost:+.2f} points)")

    float_size = file_size(model.state_dict(), os.path.join(args.out, "digits-float32.pt"))
    int8_size = file_size(quantized.state_dict(), os.path.join(args.out, "digits-int8.pt"))
    share = int8_size / float_size
    print(f"model file: float32 {float_size:,} bytes, int8 {int8_size:,} bytes ({share:.3f} of it)")

    torch.manual_seed(1)
    prepared = prepare_qat_fx(make_model(torch, WIDTH), get_default_qat_qconfig_mapping(), (images[:2],))
    prepared, qat_losses, _ = train(torch, epochs=args.epochs, seed=1, model=prepared)
    trained = convert_fx(prepared.eval())
    qat_accuracy = accuracy(torch, trained, test_images, test_labels)
    print(
        f"int8, trained {len(qat_losses)} steps with fake quantization: loss {qat_losses[0]:.3f} to {qat_losses[-1]:.3f}, "
        f"test accuracy {100 * qat_accuracy:.2f} %"
    )

    failures = []
    if lost > POINTS:
        failures.append(f"quantization lost {lost:.2f} points, more than {POINTS}")
    if share > SHARE:
        failures.append(f"the file has {share:.3f} of the float one's size, more than {SHARE}")
    if 100 * (float_accuracy - qat_accuracy) > 2 * POINTS or qat_losses[-1] > qat_losses[0] / 4:
        failures.append("training with fake quantization did not come to the same")
    if args.device != "cpu":
        for name, network in (("quantized after training", quantized), ("trained", trained)):
            here = logits(network, test_images)
            there = logits(network.to(args.device), test_images.to(args.device)).cpu()
            network.to("cpu")
            same = torch.equal(here, there)
            print(f"{name}: logits of {len(test_images)} test images on cpu and {args.device} are bit-equal: {same}")
            if not same:
                failures.append(f"{name}: the logits on {args.device} differ in {(here != there).sum().item()} numbers")
    for failure in failures:
        print(f"FAILED: {failure}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
