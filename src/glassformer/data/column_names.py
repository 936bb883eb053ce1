"""Names by which columns of texts and labels are known."""

import re
import unicodedata

TEXT_NAMES = (
    *("text", "review", "sentence", "tweet", "content", "comment", "message", "body", "document", "post"),
    *("review_text", "reviewtext", "review_body", "comment_text", "tweet_text", "utterance", "question"),
    *("description", "headline", "title"),
    *("texte", "kommentar", "bewertungstext", "nachricht", "avis", "commentaire"),  # German and French
    *("texto", "comentario", "resena", "mensaje", "mensagem", "avaliacao"),  # Spanish and Portuguese
    *("van_ban", "nhan_xet", "binh_luan", "noi_dung", "文本", "评论", "内容"),  # Vietnamese and Chinese
)
LABEL_NAMES = (
    *("label", "labels", "target", "targets", "class", "classes", "category", "sentiment", "polarity"),
    *("tag", "tags", "topic", "emotion", "intent", "y"),
    *("kategorie", "klasse", "etiquette", "categorie", "classe"),  # German and French
    *("etiqueta", "categoria", "clase", "rotulo"),  # Spanish and Portuguese
    *("nhan", "loai", "标签", "类别", "分类"),  # Vietnamese and Chinese
    *("klassifikation", "klassifizierung", "einstufung", "classification", "clasificacion", "classificacao"),
    *("phan_loai", "the_loai", "danh_muc"),
    *("stimmung", "sentimento", "sentimiento", "emocion", "emocao", "cam_xuc", "情感", "情绪"),
    *("rubrik", "thema", "theme", "tema", "chu_de", "主题"),
)
MEASURE_NAMES = (  # a label if no column has one of the names above
    *("stars", "rating", "score", "bewertung", "sterne", "etoiles", "estrellas", "estrelas"),
    *("valoracion", "calificacion", "puntuacion", "danh_gia", "so_sao", "评分", "星级", "类型"),
)
_TEXT_WORDS = (
    *("feedback", "opinion", "remark", "complaint", "verbatim", "meinung", "ruckmeldung", "beschwerde"),
    *("anmerkung", "remarque", "opinione", "opiniao", "y_kien", "phan_hoi", "gop_y", "反馈", "意见"),
)
"""Words that name a text if the column holds texts."""
_LONG = 6  # letters of a word that also ends compounds: kundenkommentar, produktkategorie
KNOWN_NAMES = {*TEXT_NAMES, *LABEL_NAMES, *MEASURE_NAMES}


def tidy(name: str) -> str:
    """A name in lower case, its words joined by underscores."""
    return re.sub(r"[\s_-]+", "_", name.strip().lower())


def folded(name: str) -> str:
    """A name as the lists above spell it: without accents too."""
    if (plain := tidy(name)).isascii():  # a damaged header may be megabytes long
        return plain
    letters = unicodedata.normalize("NFKD", plain)
    return "".join(letter for letter in letters if not unicodedata.combining(letter)).replace("đ", "d")


def may_name_text(name: str) -> bool:
    """Whether one of the words of a name is that of a text: `Kunden_Kommentar`, `customer feedback (EN)`."""
    return _holds_word(name, (*TEXT_NAMES, *_TEXT_WORDS))


def may_name_label(name: str) -> bool:
    """Whether one of the words of a name is that of a label: `ticket category`, `finalLabel`."""
    return _holds_word(name, (*(each for each in LABEL_NAMES if len(each) > 1), *MEASURE_NAMES))


def may_name_degree(name: str) -> bool:
    """Whether one of the words of a name is that of a measure: `stars`, `overall rating`."""
    return _holds_word(name, MEASURE_NAMES)


def may_be_known(name: str) -> bool:
    """Whether a name is, or holds, one of the names of texts and labels."""
    return folded(name) in KNOWN_NAMES or may_name_text(name) or may_name_label(name)


def _holds_word(name: str, known: tuple[str, ...]) -> bool:
    apart = re.sub(r"(?<=[a-z])(?=[A-Z])|[\W_]+", "_", unicodedata.normalize("NFC", name))
    words = [word for word in folded(apart).split("_") if word]
    joined = f"_{'_'.join(words)}_"
    return any(
        f"_{each}_" in joined
        or (each.isascii() and any(word in (f"{each}s", f"{each}e") for word in words))
        or (each.isascii() and len(each) >= _LONG and any(word.endswith(each) for word in words))
        or (not each.isascii() and each in joined)
        for each in known
    )
