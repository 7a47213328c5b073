"""Plain text out of HTML, Pod, reStructuredText and AsciiDoc, as far as the packages use them."""

import html as entities
import re


def tidy(text):
    """Without soft hyphens, trailing blanks and more than one blank line."""
    text = re.sub(r"[ \t]+\n", "\n", text.replace("\u00ad", "").replace("\r", ""))
    return re.sub(r"\n\s*\n+", "\n\n", text).strip()


def html(markup):
    """HTML, with its paragraphs; preformatted text keeps its lines."""
    markup = re.sub(r"(?is)<(script|style).*?</\1>", "", markup)
    parts = re.split(r"(?is)(<pre.*?</pre>)", markup)
    parts[::2] = [re.sub(r"\s+", " ", part) for part in parts[::2]]
    block = re.compile(r"(?i)</?(p|div|li|ul|ol|dl|dd|dt|pre|table|tr|h\d)\b[^>]*>")
    parts = [re.sub(r"<[^>]+>", "", block.sub("\n\n", part)) for part in parts]
    return tidy(entities.unescape("".join(parts)))


def pod(text):
    """Perl's Plain Old Documentation."""

    def link(found):
        return found[0][2:-1].split("|")[0].replace("/", " ").replace('"', "")

    def command(found):
        return found[0][len("=item ") :] if found[0].startswith("=item") else "\n"

    # Codes may contain each other.
    for _ in range(3):
        text = re.sub(r"L<(?:[^<>|]*\|)?([^<>]*)>", link, text)
        text = re.sub(r"[BCFIS]<<+ (.*?) >>+", r"\1", text)
        text = re.sub(r"[BCFIS]<([^<>]*)>", r"\1", text)
    text = text.replace("E<lt>", "<").replace("E<gt>", ">")
    text = re.sub(r"(?m)^=(?:over|back|begin|end|for|cut|encoding|item\s*\*?)[^\n]*\n", command, text)
    return tidy(re.sub(r"X<[^>]*>|Z<>", "", text))


def rst(text):
    """reStructuredText, with Sphinx's roles."""
    directive = r"\.\. (?:only|contents|index|_|sectionauthor|highlight|versionadded|versionchanged)"
    text = re.sub(rf"(?m)^{directive}[^\n]*\n(?:[ \t]+[^\n]*\n|\n(?=[ \t]))*", "", text)
    text = re.sub(r":[a-zA-Z:]+:`!?~?([^`<]*?)(?:\s*<[^`>]*>)?`", r"\1", text)
    text = re.sub(r"`([^`<]*?)\s*<[^`>]*>`__?", r"\1", text)
    text = re.sub(r"`{1,2}([^`]*)`{1,2}_?", r"\1", text).replace("::", ":")
    return tidy(text)


def asciidoc(text):
    """AsciiDoc, with Git's links to its manual pages."""
    text = re.sub(r"(?m)^(\+|-{4,}|\.{4,}|\[\[.*\]\]|\[.*\])$", "", text)
    text = re.sub(r"linkgit:([a-z0-9-]+)\[\d\]", r"\1", text)
    return tidy(re.sub(r"(?m)^\t", "", text).replace("`", ""))
