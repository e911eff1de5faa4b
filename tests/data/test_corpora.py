"""The seven corpora, each in the forms it comes in, on tiny files."""

import csv
import gzip
import io
import json
import lzma
from itertools import pairwise

import pytest

from attnlab.data.corpora import KNOWN, yelp
from attnlab.data.labelled_text import CORPORA, load_corpus
from attnlab.errors import UsageError


@pytest.fixture(autouse=True)
def _cache(tmp_path_factory, monkeypatch):
    monkeypatch.setenv("ATTNLAB_CACHE", str(tmp_path_factory.mktemp("cache")))


def write(path, text, encoding="utf-8"):
    path.parent.mkdir(parents=True, exist_ok=True)
    data = text.encode(encoding)
    path.write_bytes({".gz": gzip.compress, ".xz": lzma.compress}.get(path.suffix, bytes)(data))


def told(corpus, part):
    """The texts of a part as (words, class), in order."""
    bags = getattr(corpus, part)
    bounds = bags.offsets.tolist()
    words = [corpus.words[word] for word in bags.words.tolist()]
    texts = [" ".join(words[start:end]) for start, end in pairwise(bounds)]
    return list(zip(texts, [corpus.classes[label] for label in bags.labels.tolist()], strict=True))


def test_the_seven_are_known():
    assert CORPORA == ("imdb", "ag_news", "20newsgroups", "sst", "amazon", "yelp", "sms")
    assert all(known.get and known.title and len(known.classes) == 2 for known in KNOWN.values())


# --- The Stanford Sentiment Treebank ------------------------------------------------------------------------------

TREES = [
    "(3 (2 A) (3 (3 good) (2 film)))",
    "(0 (2 A) (0 (0 bad) (2 film)))",
    "(2 (2 A) (2 film))",
    "(4 (4 (2 -LRB-) (4 Good)) (2 (2 -RRB-) (2 film)))",
    "(1 (1 (2 Not) (3 good)) (2 .))",
]


@pytest.mark.parametrize("folder", ["sst", "trees", "sst/trees"])
@pytest.mark.parametrize("packed", ["", ".gz"])
def test_trees(folder, packed, tmp_path):
    write(tmp_path / folder / f"train.txt{packed}", "\n".join(TREES))
    write(tmp_path / folder / f"test.txt{packed}", "\n".join(TREES[:3]) + "\n\n")
    corpus = load_corpus("sst", root=tmp_path)
    assert told(corpus, "train") == [
        ("<unk> good film", "positive"),
        ("<unk> <unk> film", "negative"),
        ("good film", "positive"),
        ("<unk> good", "negative"),
    ]
    assert told(corpus, "valid") == [("<unk> good film", "positive"), ("<unk> <unk> film", "negative")]
    assert corpus.notes == ("1 training and 1 test sentences with the middle label are left out.",)
    assert corpus.words == ("<unk>", "film", "good")


def test_a_line_that_is_no_tree_is_named(tmp_path):
    write(tmp_path / "sst/train.txt", "\n".join([*TREES, "a good film"]))
    write(tmp_path / "sst/test.txt", TREES[0])
    with pytest.raises(UsageError, match=r"train\.txt, line 6 is no labelled tree"):
        load_corpus("sst", root=tmp_path)


# --- SMS ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("place", ["sms_spam/SMSSpamCollection", "sms+spam+collection/SMSSpamCollection"])
def test_messages_are_split_by_a_fixed_permutation(place, tmp_path):
    lines = [f"{'spam' if row % 5 == 0 else 'ham'}\tmessage w{row}" for row in range(4000)]
    write(tmp_path / place, "\n".join([*lines, "ham\t:-)"]))
    corpus = load_corpus("sms", root=tmp_path)
    assert (len(corpus.train), len(corpus.valid)) == (3500, 500)
    assert corpus.classes == ("ham", "spam")
    assert corpus.notes == ("1 text without a word is left out.",)
    assert int(corpus.train.labels.sum() + corpus.valid.labels.sum()) == 800
    again = load_corpus("sms", root=tmp_path)
    assert again.content == corpus.content


def test_a_message_without_a_tab_is_named(tmp_path):
    write(tmp_path / "sms/SMSSpamCollection", "ham\thello\nspam win now\n")
    with pytest.raises(UsageError, match=r"SMSSpamCollection, line 2 is not 'ham' or 'spam', a tab and a text"):
        load_corpus("sms", root=tmp_path)


# --- AG News ------------------------------------------------------------------------------------------------------

NEWS = [
    ("1", "Talks", 'They said "yes" in 1999, 2 days on'),
    ("3", "Shares", "Shares talks said"),
    ("2", "Match", "Nobody"),
    ("3", "Shares", "said talks 2"),
    ("4", "Chips", "No"),
]


def quoted(rows):
    out = io.StringIO()
    csv.writer(out, quoting=csv.QUOTE_ALL).writerows(rows)
    return out.getvalue()


@pytest.mark.parametrize(
    ("folder", "packed"), [("ag_news", ""), ("ag_news_csv", ""), ("ag_news", ".gz")], ids=["plain", "archive", "gz"]
)
def test_official_csv(folder, packed, tmp_path):
    write(tmp_path / folder / f"train.csv{packed}", quoted(NEWS))
    write(tmp_path / folder / f"test.csv{packed}", quoted(NEWS[:2]))
    corpus = load_corpus("ag_news", root=tmp_path)
    assert told(corpus, "train") == [
        ("talks <unk> said <unk> <unk> <unk> <unk> <unk> <unk>", "world"),
        ("shares shares talks said", "business"),
        ("shares said talks <unk>", "business"),
    ]
    assert len(corpus.valid) == 2
    assert corpus.notes == ("2 training and 0 test texts on sports or science are left out.",)


def test_long_numbers_are_unknown_however_frequent(tmp_path):
    rows = [("1", "in 1999", "7 in 1999"), ("3", "1999", "7 7 in")]
    write(tmp_path / "ag_news/train.csv", quoted(rows))
    write(tmp_path / "ag_news/test.csv", quoted(rows))
    assert load_corpus("ag_news", root=tmp_path).words == ("<unk>", "7", "in")


def test_a_training_subset_is_told(tmp_path):
    lines = ["class\tsource\ttext", *(f'{label}\tX\t{title} "{text}' for label, title, text in NEWS)]
    write(tmp_path / "ag_news/train_subset.tsv.gz", "\n".join(lines))
    write(tmp_path / "ag_news/test.csv", quoted(NEWS[:2]))
    corpus = load_corpus("ag_news", root=tmp_path)
    assert told(corpus, "train")[1] == ("shares shares talks said", "business")
    assert corpus.notes == (
        "The training texts are those of train_subset.tsv.gz, a part of the official training set.",
        "2 training and 0 test texts on sports or science are left out.",
    )


@pytest.mark.parametrize(
    ("bad", "named"),
    [
        ('"1","Title"\n', r"train\.csv, line 1 has 2 columns, not class, title, description"),
        ('"9","Title","Text"\n', r"train\.csv, row 1: the class must be 1, 2, 3 or 4, not '9'"),
        ('"1","T","x"\n\n"","Title","Text"\n', r"train\.csv, row 3: the class must be 1, 2, 3 or 4, not ''"),
        (
            '"1","T","x"\n"1","Title,Text\n"3","a","b"\n',
            r"train\.csv, line 3: the value .* begins in line 2 ends there",
        ),
        ('"1","T","x"\n"1","Title","Text\n', r"train\.csv, line 2: the quotation mark .* never closed"),
    ],
    ids=["columns", "class", "empty-line", "runs-on", "open"],
)
def test_bad_news(bad, named, tmp_path):
    write(tmp_path / "ag_news/train.csv", bad)
    write(tmp_path / "ag_news/test.csv", quoted(NEWS[:2]))
    with pytest.raises(UsageError, match=named):
        load_corpus("ag_news", root=tmp_path)


# --- IMDB ---------------------------------------------------------------------------------------------------------

REVIEWS = {"neg": ["Dull.<br /><br />Dull plot", "A dull plot"], "pos": ["A fine plot"]}


@pytest.mark.parametrize("folder", ["aclImdb", "imdb/aclImdb", "imdb"])
def test_the_archives_folders(folder, tmp_path):
    for part in ("train", "test"):
        for label, texts in REVIEWS.items():
            for number, text in enumerate(texts):
                write(tmp_path / folder / part / label / f"{number}_1.txt", text)
    write(tmp_path / folder / "train/unsup/0_0.txt", "Nobody knows")
    corpus = load_corpus("imdb", root=tmp_path)
    expected = [("dull dull plot", "negative"), ("<unk> dull plot", "negative"), ("<unk> <unk> plot", "positive")]
    assert told(corpus, "train") == told(corpus, "valid") == expected


def test_the_same_reviews_in_a_table(tmp_path):
    lines = ["label\trating\tid\ttext", *(f"{label}\t1\t0\t{text}" for label in REVIEWS for text in REVIEWS[label])]
    for part in ("train", "test"):
        write(tmp_path / f"imdb/{part}.tsv.xz", "\n".join(lines) + "\n")
    assert told(load_corpus("imdb", root=tmp_path), "train")[0] == ("dull dull plot", "negative")
    write(tmp_path / "imdb/test.tsv.xz", "\n".join([*lines, "meh\t1\t0\tFine"]))
    with pytest.raises(UsageError, match=r"test\.tsv\.xz, line 5: the label must be neg or pos, not 'meh'"):
        load_corpus("imdb", root=tmp_path)


# --- 20 Newsgroups ------------------------------------------------------------------------------------------------

BALL = "From: Ann\nSubject: ball_game in 1993\n\nNewsgroups: a word in the text\nball ball\n"
PUCK = "From: Bob\nNewsgroups: rec.sport.hockey,\n rec.puck\nSubject: ball\n\ngame caf\xe9"


@pytest.mark.parametrize("folder", [".", "20newsgroups", "20news-bydate"])
def test_messages_by_date(folder, tmp_path):
    for part in ("train", "test"):
        root = tmp_path / folder / f"20news-bydate-{part}"
        write(root / "rec.sport.baseball/104340", BALL, "latin-1")
        write(root / "rec.sport.hockey/52550", PUCK, "latin-1")
        write(root / "rec.sport.hockey/52551", "From: Bob\n\nball game game café", "latin-1")
        write(root / "sci.space/1", "Rockets", "latin-1")
    corpus = load_corpus("20newsgroups", root=tmp_path)
    (ball, sport), (puck, other), _ = told(corpus, "train")
    assert (sport, other) == ("baseball", "hockey")
    assert ball.split().count("ball") == 3 and ball.endswith("ball ball")
    assert puck == "from <unk> <unk> ball game <unk>"
    assert corpus.words == ("<unk>", "ball", "game", "from")
    assert corpus.notes == (
        "2 header lines that name the newsgroup are left out; all other mail headers stay.",
        "4 messages with bytes beyond ASCII are read as Latin-1.",
    )


def test_the_same_messages_in_json_lines(tmp_path):
    rows = [("rec.sport.baseball", BALL), ("rec.sport.hockey", "From: Bob\n\nball ball"), ("sci.space", "Rockets")]
    for part in ("train", "test"):
        some = rows * 2 if part == "train" else rows
        lines = "\n".join(json.dumps({"group": group, "id": "1", "text": text}) for group, text in some)
        write(tmp_path / f"20newsgroups/20news-bydate-{part}.jsonl.xz", lines + "\n\n")
    corpus = load_corpus("20newsgroups", root=tmp_path)
    assert [label for _, label in told(corpus, "train")] == ["baseball", "hockey"] * 2
    assert corpus.notes == (
        "The mail headers stay; none of them names the newsgroup.",
        "2 training and 1 test messages of other groups are left out.",
    )


def test_messages_without_their_headers(tmp_path):
    for part in ("train", "test"):
        lines = [
            json.dumps({"group": f"rec.sport.{sport}", "text": text})
            for sport, text in (("baseball", BALL), ("hockey", PUCK))
        ]
        write(tmp_path / f"20newsgroups/20news-bydate-{part}.jsonl", "\n".join(lines * 3))
    corpus = load_corpus("20newsgroups-bodies", root=tmp_path)
    assert told(corpus, "train")[:2] == [
        ("newsgroups a word in the text ball ball", "baseball"),
        ("game café", "hockey"),
    ]
    assert corpus.notes == ("All mail headers are left out, the lines with sender and subject too.",)
    assert corpus.content != load_corpus("20newsgroups", root=tmp_path).content
    assert "20newsgroups-bodies" not in CORPORA, "it is no corpus of the paper's"


# --- Amazon -------------------------------------------------------------------------------------------------------


def review(words):
    return f"<review>\n<rating>\n5.0\n</rating>\n<review_text>\n{words}\n</review_text>\n</review>\n"


@pytest.mark.parametrize("name", ["sorted_data_acl/{}/{}.review", "amazon_blitzer/{}.{}.review.gz"])
def test_reviews_below_400_words(name, tmp_path):
    for domain in ("books", "dvd", "electronics", "kitchen"):
        for label in ("positive", "negative"):
            texts = [f"{label} & <b>{domain}</b> caf\xe9"] * 9 + ["word " * 399, "word " * 400]
            write(tmp_path / name.format(domain, label), "".join(map(review, texts)), "latin-1")
    corpus = load_corpus("amazon", root=tmp_path)
    assert (len(corpus.train), len(corpus.valid)) == (64, 16)
    texts = told(corpus, "train") + told(corpus, "valid")
    short = [(text.split(), label) for text, label in texts if "café" in text]
    assert len(short) == 72
    assert all(words[0] == label and words[1] == words[3] == "b" for words, label in short)
    assert [len(text.split()) for text, _ in texts if "word" in text] == [399] * 8
    assert corpus.notes == (
        "8 of 8 files are not UTF-8 and are read as Latin-1, 72 texts with letters beyond ASCII among them.",
        "8 texts of more than 399 words are left out.",
    )


def test_only_files_that_are_not_utf8_are_told(tmp_path):
    for domain in ("books", "dvd", "electronics", "kitchen"):
        for label in ("positive", "negative"):
            encoding = "latin-1" if (domain, label) == ("dvd", "positive") else "utf-8"
            texts = [review("fine"), review("caf\xe9"), review("caf\xe9")]
            write(tmp_path / f"sorted_data_acl/{domain}/{label}.review", "".join(texts), encoding)
    corpus = load_corpus("amazon", root=tmp_path)
    assert sorted(corpus.words) == ["<unk>", "café", "fine"]
    assert corpus.notes == (
        "1 of 8 files is not UTF-8 and is read as Latin-1, 2 texts with letters beyond ASCII among them.",
    )


def test_a_review_that_is_cut_off_is_told(tmp_path):
    for domain in ("books", "dvd", "electronics", "kitchen"):
        for label in ("positive", "negative"):
            write(tmp_path / f"sorted_data_acl/{domain}/{label}.review", review("fine") + "<review_text>\nand then")
    with pytest.raises(UsageError, match=r"negative\.review has 2 times <review_text> and 1 whole reviews"):
        load_corpus("amazon", root=tmp_path)


# --- Yelp ---------------------------------------------------------------------------------------------------------


def reviews(count):
    return [{"stars": float(1 + row % 5), "text": f"stars{1 + row % 5} place", "user": "u"} for row in range(count)]


def test_json_lines_and_csv_give_the_same(tmp_path):
    write(tmp_path / "a/yelp/yelp_academic_dataset_review.json", "\n".join(map(json.dumps, reviews(50))) + "\n")
    table = "\n".join(["date,stars,text", *(f'2011,{one["stars"]:g},"{one["text"]}"' for one in reviews(50))])
    write(tmp_path / "b/yelp/yelp_10k_stars.csv.gz", table)
    corpus, other = load_corpus("yelp", root=tmp_path / "a"), load_corpus("yelp", root=tmp_path / "b")
    assert corpus.content == other.content
    assert (len(corpus.train), len(corpus.valid)) == (32, 8)
    sides = {"stars1": "negative", "stars2": "negative", "stars4": "positive", "stars5": "positive"}
    assert all(sides[text.split()[0]] == label for text, label in told(corpus, "train"))
    assert corpus.notes == ("10 reviews with 3 stars are left out.",)


def test_empty_lines_of_the_table_are_counted(tmp_path):
    table = "\n".join(["stars,text", *(f"{one['stars']:g},{one['text']}" for one in reviews(50))])
    write(tmp_path / "a/yelp/yelp_10k_stars.csv", table)
    write(tmp_path / "b/yelp/yelp_10k_stars.csv", table + "\n\n")
    corpus, other = load_corpus("yelp", root=tmp_path / "a"), load_corpus("yelp", root=tmp_path / "b")
    assert corpus.content == other.content
    assert other.notes == (*corpus.notes, "1 row without text and stars is left out.")
    write(tmp_path / "b/yelp/yelp_10k_stars.csv", table + "\n\nmany,y\n")
    with pytest.raises(UsageError, match="row 52: a number of stars is expected, not 'many'"):
        load_corpus("yelp", root=tmp_path / "b")


def test_no_more_than_20000_reviews_are_read(tmp_path):
    lines = [json.dumps(one) for one in reviews(25_000)]
    write(tmp_path / "yelp_academic_dataset_review.json", "\n".join([*lines, "no JSON, and never read"]))
    corpus = load_corpus("yelp", root=tmp_path)
    assert len(corpus.train) == 16_000 and len(corpus.valid) == 4000
    assert yelp.MOST == 20_000
    assert corpus.notes == ("5000 reviews with 3 stars are left out.",)


@pytest.mark.parametrize(
    ("name", "text", "named"),
    [
        ("yelp/yelp_academic_dataset_review.json", '{"stars": 4, "text": "x"}\n{"stars": 4}\n', r"line 2 is no review"),
        ("yelp/yelp_academic_dataset_review.json", '{"stars": 4, "text": 7}\n', r"line 1 is no review"),
        ("yelp/yelp_academic_dataset_review.json", "[]\n", r"line 1 is no review"),
        ("yelp/yelp_academic_dataset_review.json", "[" * 100_000, r"line 1 is no review"),
        (
            "yelp/yelp_academic_dataset_review.json",
            '{"stars": NaN, "text": "x"}\n',
            r"line 1: a review has 1 to 5 stars, not nan",
        ),
        ("yelp/yelp_10k_stars.csv", "stars,text\n5,x\nmany,y\n", r"row 2: a number of stars is expected, not 'many'"),
        ("yelp/yelp_10k_stars.csv", "stars,text\n9,x\n", r"row 1: a review has 1 to 5 stars, not 9"),
        ("yelp/yelp_10k_stars.csv", "star,text\n9,x\n", r"no column 'stars'; .* Did you mean 'star'\?"),
    ],
    ids=["key", "text", "list", "deep", "nan", "word", "nine", "column"],
)
def test_bad_reviews(name, text, named, tmp_path):
    write(tmp_path / name, text)
    with pytest.raises(UsageError, match=named):
        load_corpus("yelp", root=tmp_path)


# --- Nothing there ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", CORPORA)
def test_a_corpus_that_is_not_there_is_told_with_how_to_get_it(name, tmp_path):
    with pytest.raises(UsageError, match="needed: the ") as error:
        load_corpus(name, root=tmp_path)
    assert KNOWN[name].get in str(error.value)


def test_no_folder_and_no_such_corpus(tmp_path, monkeypatch):
    monkeypatch.delenv("ATTNLAB_DATA", raising=False)
    with pytest.raises(UsageError, match="No data folder is given"):
        load_corpus("sst")
    with pytest.raises(UsageError, match="none is not there"):
        load_corpus("sst", root=tmp_path / "none")
    with pytest.raises(UsageError, match=r"no corpus 'ag-news'; the corpora are imdb, .*Did you mean 'ag_news'\?"):
        load_corpus("ag-news", root=tmp_path)
