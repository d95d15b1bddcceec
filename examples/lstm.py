"""Train an LSTM language model on words of the Python language reference, which comes with Python.

The text is read in order, in sixteen columns: the state of the network goes on from one piece to the next, its gradient does
not. The check: on text that it was not trained with, the perplexity is lower than that of counted pairs of words.

    python examples/lstm.py
    python examples/lstm.py --epochs 12 --prompt "the class"
"""

import math
import re
from collections import Counter

from common import Progress, check, load_module, options, reference_text


def make_model(torch, vocabulary, width=128, layers=1):
    """Return the network: ids (batch, time) and a state or None to scores (batch, time, vocabulary) and the next state."""
    nn = torch.nn

    class LanguageModel(nn.Module):
        def __init__(self):
            super().__init__()
            self.words = nn.Embedding(vocabulary, width)
            self.dropout = nn.Dropout(0.3)
            self.lstm = nn.LSTM(width, width, layers, batch_first=True)
            self.scores = nn.Linear(width, vocabulary)
            nn.init.uniform_(self.words.weight, -0.1, 0.1)
            self.scores.weight = self.words.weight  # words alike are read and written alike

        def forward(self, ids, state=None):
            hidden, state = self.lstm(self.dropout(self.words(ids)), state)
            return self.scores(self.dropout(hidden)), state

    return LanguageModel()


def pieces(ids, columns, length):
    """Yield pieces of a text, laid in columns, and the same one word later: two (columns, length) each."""
    height = (len(ids) - 1) // columns
    x, y = (ids[i : i + columns * height].reshape(columns, height) for i in (0, 1))
    for start in range(0, height, length):
        yield x[:, start : start + length], y[:, start : start + length]


def loss_of(torch, model, x, y, state):
    scores, state = model(x, state)
    return torch.nn.functional.cross_entropy(scores.flatten(0, 1), y.flatten()), state


def train(torch, model, ids, epochs, device="cpu", lr=3e-3, columns=16, length=24, max_steps=None):
    """Train the network; return the loss of each step."""
    optimizer = torch.optim.Adam(model.parameters(), lr=lr)
    work = [list(pieces(ids, columns, length))] * epochs
    steps = sum(map(len, work)) if max_steps is None else max_steps
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=lr, total_steps=max(steps, 2))
    progress = Progress(steps, f"lstm on {torch.__name__}, {device}")
    source = ((x, y, not i) for epoch in work for i, (x, y) in enumerate(epoch))
    losses, state = [], None
    for _, (x, y, first) in zip(progress, source, strict=False):
        state = None if first else tuple(s.detach() for s in state)
        loss, state = loss_of(torch, model, x.to(device), y.to(device), state)
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        losses.append(loss.item())
        progress.show(loss=losses[-1])
    return losses


def perplexity(torch, model, ids, device="cpu"):
    """Return the perplexity of a text, read from its start to its end."""
    model.eval()
    total, count, state = 0.0, 0, None
    with torch.no_grad():
        for x, y in pieces(ids, 1, 256):
            loss, state = loss_of(torch, model, x.to(device), y.to(device), state)
            total, count = total + loss.item() * y.numel(), count + y.numel()
    model.train()
    return math.exp(total / count)


def perplexity_of_pairs(ids, test, vocabulary, weight=0.7):
    """Return the perplexity of counted pairs of words, mixed with counted words."""
    singles, pairs = Counter(ids), Counter(zip(ids, ids[1:], strict=False))
    total = 0.0
    for a, b in zip(test, test[1:], strict=False):
        single = (singles[b] + 1) / (len(ids) + vocabulary)
        pair = pairs[a, b] / singles[a] if singles[a] else single
        total -= math.log(weight * pair + (1 - weight) * single)
    return math.exp(total / (len(test) - 1))


def write(torch, model, ids, count, device="cpu", banned=0):
    """Return ids continued by words that are drawn one after the other; never the one for unknown words."""
    model.eval()
    found, state = list(ids), None
    x = torch.tensor([found], device=device)
    with torch.no_grad():
        for _ in range(count):
            scores, state = model(x, state)
            chances = (scores[0, -1].cpu() / 0.8).softmax(-1)
            chances[banned] = 0.0
            found.append(int(torch.multinomial(chances, 1)))
            x = torch.tensor([found[-1:]], device=device)
    model.train()
    return found


def load_words(size=1500):
    """Return the text as numbers, and the words that they stand for: the commonest, and one for all others."""
    # Lines of tables, such as +----+, are few words.
    found = re.finditer(r"[a-z_]+|[0-9]+|([^\w\s])\1*", reference_text().lower())
    words = [match.group() for match in found]
    vocabulary = ["<unknown>"] + [word for word, _ in Counter(words).most_common(size - 1)]
    number = {word: i for i, word in enumerate(vocabulary)}
    return [number.get(word, 0) for word in words], vocabulary


def main(argv=None):
    args = options(__doc__, epochs=5, prompt="the value of", length=40).parse_args(argv)
    torch = load_module(args)
    words, vocabulary = load_words()
    split = int(0.9 * len(words))
    ids = torch.tensor(words)
    print(f"{len(words):,} words, {len(vocabulary):,} kinds")
    model = make_model(torch, len(vocabulary)).to(args.device)
    train(torch, model, ids[:split], args.epochs, args.device)
    prompt = [vocabulary.index(word) for word in args.prompt.lower().split() if word in vocabulary]
    print(" ".join(vocabulary[i] for i in write(torch, model, prompt or [1], args.length, args.device)))
    found = perplexity(torch, model, ids[split:], args.device)
    pairs = perplexity_of_pairs(words[:split], words[split:], len(vocabulary))
    check(found < pairs, f"perplexity {found:.1f} of new text; counted pairs of words {pairs:.1f}")
    return found / pairs


if __name__ == "__main__":
    main()
