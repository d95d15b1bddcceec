"""A word-level language model with an LSTM and tied weights."""
import math
import time

import torch
import torch.nn as nn

TEXT = """the cat sat on the mat and the dog sat on the log while the cat saw the dog and the dog saw the cat
then the bird sang to the cat and the dog and the cat ran from the log to the mat and sat on the mat again""" * 6


class Dictionary(object):
    def __init__(self):
        self.word2idx = {}
        self.idx2word = []

    def add_word(self, word):
        if word not in self.word2idx:
            self.idx2word.append(word)
            self.word2idx[word] = len(self.idx2word) - 1
        return self.word2idx[word]

    def __len__(self):
        return len(self.idx2word)


class RNNModel(nn.Module):
    def __init__(self, ntoken, ninp, nhid, nlayers, dropout=0.2, tie_weights=True):
        super().__init__()
        self.ntoken = ntoken
        self.drop = nn.Dropout(dropout)
        self.encoder = nn.Embedding(ntoken, ninp)
        self.rnn = nn.LSTM(ninp, nhid, nlayers, dropout=dropout)
        self.decoder = nn.Linear(nhid, ntoken)
        if tie_weights:
            self.decoder.weight = self.encoder.weight
        self.init_weights()
        self.nhid = nhid
        self.nlayers = nlayers

    def init_weights(self):
        initrange = 0.1
        nn.init.uniform_(self.encoder.weight, -initrange, initrange)
        nn.init.zeros_(self.decoder.bias)

    def forward(self, input, hidden):
        emb = self.drop(self.encoder(input))
        output, hidden = self.rnn(emb, hidden)
        decoded = self.decoder(self.drop(output)).view(-1, self.ntoken)
        return nn.functional.log_softmax(decoded, dim=1), hidden

    def init_hidden(self, bsz):
        weight = next(self.parameters())
        return (weight.new_zeros(self.nlayers, bsz, self.nhid), weight.new_zeros(self.nlayers, bsz, self.nhid))


def batchify(data, bsz):
    nbatch = data.size(0) // bsz
    data = data.narrow(0, 0, nbatch * bsz)
    return data.view(bsz, -1).t().contiguous()


def get_batch(source, i, bptt):
    seq_len = min(bptt, len(source) - 1 - i)
    return source[i:i + seq_len], source[i + 1:i + 1 + seq_len].view(-1)


def repackage_hidden(h):
    if isinstance(h, torch.Tensor):
        return h.detach()
    return tuple(repackage_hidden(v) for v in h)


torch.manual_seed(1111)
dictionary = Dictionary()
ids = torch.tensor([dictionary.add_word(w) for w in TEXT.split()]).type(torch.int64)
train_data = batchify(ids, 4)
model = RNNModel(len(dictionary), 32, 32, 2)
criterion = nn.NLLLoss()
lr, best = 5.0, None
for epoch in range(3):
    model.train()
    total, start = 0., time.time()
    hidden = model.init_hidden(4)
    for batch, i in enumerate(range(0, train_data.size(0) - 1, 12)):
        data, targets = get_batch(train_data, i, 12)
        model.zero_grad()
        hidden = repackage_hidden(hidden)
        output, hidden = model(data, hidden)
        loss = criterion(output, targets)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 0.25)
        for p in model.parameters():
            p.data.add_(p.grad, alpha=-lr)
        total += loss.item()
    mean = total / (batch + 1)
    print("| epoch {:3d} | loss {:5.4f} | ppl {:8.3f}".format(epoch, mean, math.exp(mean)))
    if best is not None and mean > best:
        lr /= 4.0
    best = mean
model.eval()
with torch.no_grad():
    hidden = model.init_hidden(1)
    word = torch.zeros(1, 1, dtype=torch.long)
    said = []
    for _ in range(10):
        output, hidden = model(word, hidden)
        word.fill_(output.squeeze().div(0.5).exp().argmax())
        said.append(dictionary.idx2word[word.item()])
print(" ".join(said))
