"""The SMS Spam Collection: ham against spam. It has no official split; the paper trains on 3500 messages (P3 A.9)."""

from attnlab.data.corpora.corpus import Found, HubSource, Known, PaperSizes, Part, Raw, find_files
from attnlab.data.reading import read_lines
from attnlab.errors import UsageError

CLASSES = ("ham", "spam")


def read(found: Found) -> Raw:
    """Each message on its own line: ``ham`` or ``spam``, a tab, the text."""
    path = found.train[0]
    texts, labels = [], []
    for number, line in enumerate(read_lines(path), 1):
        if not line.strip():
            continue
        label, tab, text = line.partition("\t")
        if label not in CLASSES or not tab:
            raise UsageError(f"{path}, line {number} is not 'ham' or 'spam', a tab and a text: {line[:40]!r}.")
        texts.append(text)
        labels.append(CLASSES.index(label))
    return Raw(Part(texts, labels))


KNOWN = Known(
    name="sms",
    title="SMS Spam Collection",
    classes=CLASSES,
    find=lambda root: find_files(
        root,
        ("sms_spam", "sms", "sms+spam+collection", "smsspamcollection", "."),
        ("SMSSpamCollection", ["SMSSpamCollection"], []),
        ("SMSSpamCollection", ["SMSSpamCollection.txt"], []),
    ),
    read=read,
    get="the SMS Spam Collection of the UCI Machine Learning Repository (Almeida and Hidalgo 2011): "
    "sms_spam/SMSSpamCollection",
    training=3500,
    paper=PaperSizes(train=3500, valid=2074, median_length=13, vocabulary=4691),
    hub=HubSource("ucirvine/sms_spam", ("sms",), "label", {0: 0, 1: 1}, "plain_text", test=None),
)
