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
    *("kategorie", "klasse", "thema", "etiquette", "categorie", "classe"),  # German and French
    *("etiqueta", "categoria", "clase", "rotulo"),  # Spanish and Portuguese
    *("nhan", "loai", "cam_xuc", "标签", "类别", "情感"),  # Vietnamese and Chinese
)
MEASURE_NAMES = ("stars", "rating", "score", "bewertung", "评分")  # a label if no column has one of the names above
KNOWN_NAMES = {*TEXT_NAMES, *LABEL_NAMES, *MEASURE_NAMES}


def tidy(name: str) -> str:
    """A name in lower case, its words joined by underscores."""
    return re.sub(r"[\s_-]+", "_", name.strip().lower())


def folded(name: str) -> str:
    """A name as the lists above spell it: without accents too."""
    letters = unicodedata.normalize("NFKD", tidy(name))
    return "".join(letter for letter in letters if not unicodedata.combining(letter)).replace("đ", "d")
