"""Train a small GPT on characters of the Python language reference, which comes with Python, and let it write.

The check: on text that it was not trained with, its loss is below 2.05 nats for each character; counts of pairs of
characters get to 2.32. ``--steps 3000`` makes it write words.

    python examples/gpt.py
    python examples/gpt.py --steps 3000 --prompt "A class is "
    python examples/gpt.py --module torch
"""

import math

from common import Progress, check, load_module, options, reference_text

BOUND = 2.05


def make_model(torch, vocabulary, context=32, width=96, heads=4, layers=2):
    """Return the network: ids (batch, time) to scores of the next character (batch, time, vocabulary)."""
    nn = torch.nn

    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
            self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
            self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

        def forward(self, x):
            q, k, v = self.qkv(self.norm1(x)).unflatten(-1, (3, heads, -1)).permute(2, 0, 3, 1, 4)
            mixed = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
            x = x + self.out(mixed.transpose(1, 2).flatten(2))
            return x + self.mlp(self.norm2(x))

    class GPT(nn.Module):
        def __init__(self):
            super().__init__()
            self.context = context
            self.characters, self.positions = nn.Embedding(vocabulary, width), nn.Embedding(context, width)
            self.blocks = nn.Sequential(*(Block() for _ in range(layers)))
            self.norm = nn.LayerNorm(width)
            self.scores = nn.Linear(width, vocabulary, bias=False)
            for module in self.modules():
                if isinstance(module, nn.Embedding | nn.Linear):
                    nn.init.normal_(module.weight, std=0.02)

        def forward(self, ids):
            x = self.characters(ids) + self.positions(torch.arange(ids.shape[1], device=ids.device))
            return self.scores(self.norm(self.blocks(x)))

    return GPT()


def batches(torch, ids, size, length, device):
    """Return pieces of a text (size, length) at random places, and the same one character later."""
    starts = torch.randint(len(ids) - length - 1, (size,))
    rows = ids[starts[:, None] + torch.arange(length + 1)]
    return rows[:, :-1].to(device), rows[:, 1:].to(device)


def loss_of(torch, model, x, y):
    return torch.nn.functional.cross_entropy(model(x).flatten(0, 1), y.flatten())


def evaluate(torch, model, ids, device, size=128):
    """Return the mean loss over a part of the text, cut into pieces without overlap."""
    length = model.context
    count = min(size, (len(ids) - 1) // length)
    x = ids[: count * length].reshape(count, length)
    y = ids[1 : count * length + 1].reshape(count, length)
    with torch.no_grad():
        return loss_of(torch, model, x.to(device), y.to(device)).item()


def train(torch, model, ids, steps, device="cpu", lr=4e-3, batch_size=16):
    """Train the network; return the loss of each step."""
    optimizer = torch.optim.AdamW(model.parameters(), lr=lr, betas=(0.9, 0.95), weight_decay=0.1)
    warmup = max(steps // 10, 1)
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda step: min((step + 1) / warmup, 0.55 + 0.45 * math.cos(math.pi * step / steps))
    )
    losses = []
    progress = Progress(steps, f"gpt on {torch.__name__}, {device}")
    for _ in progress:
        loss = loss_of(torch, model, *batches(torch, ids, batch_size, model.context, device))
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        losses.append(loss.item())
        progress.show(loss=losses[-1])
    return losses


def write(torch, model, prompt, count, device="cpu", temperature=0.8):
    """Return ids (1, time) continued by characters that are drawn one after the other."""
    ids = prompt.to(device)
    with torch.no_grad():
        for _ in range(count):
            scores = model(ids[:, -model.context :])[:, -1] / temperature
            ids = torch.cat([ids, torch.multinomial(scores.softmax(-1).cpu(), 1).to(device)], 1)
    return ids.cpu()


def main(argv=None):
    parser = options(__doc__, steps=800, prompt="The ", length=200)
    args = parser.parse_args(argv)
    torch = load_module(args)
    text = reference_text()
    vocabulary = sorted(set(text))
    number = {c: i for i, c in enumerate(vocabulary)}
    ids = torch.tensor([number[c] for c in text])
    split = int(0.9 * len(ids))
    model = make_model(torch, len(vocabulary)).to(args.device)
    print(f"{len(text):,} characters, {len(vocabulary)} kinds; {sum(p.numel() for p in model.parameters()):,} parameters")
    train(torch, model, ids[:split], args.steps, args.device)
    model.eval()
    prompt = torch.tensor([[number[c] for c in args.prompt if c in number]])
    print("".join(vocabulary[i] for i in write(torch, model, prompt, args.length, args.device)[0].tolist()))
    loss = evaluate(torch, model, ids[split:], args.device)
    check(loss < BOUND, f"{loss:.3f} nats for each character of new text, at most {BOUND} wanted")
    return loss


if __name__ == "__main__":
    main()
