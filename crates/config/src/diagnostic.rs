//! Problems with a place, and how they are printed.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use annotate_snippets::{AnnotationKind, Group, Level, Origin as Path, Renderer, Snippet};

/// Where a value came from.
#[derive(Debug)]
pub(crate) enum Origin {
    /// A text with lines: a file, a preset, a text from memory.
    Text {
        /// The file, or a name for it.
        name: String,
        /// All of it.
        text: String,
    },
    /// A setting without lines: `--set a.b=v`.
    Named(String),
}

/// A place in an origin.
#[derive(Clone, Debug)]
pub(crate) struct OriginPlace {
    pub(crate) origin: Arc<Origin>,
    /// Bytes of the text; `None`: all of it.
    pub(crate) span: Option<Range<usize>>,
}

impl OriginPlace {
    /// A place without lines.
    pub(crate) fn named(name: impl Into<String>) -> OriginPlace {
        OriginPlace { origin: Arc::new(Origin::Named(name.into())), span: None }
    }
}

/// One problem: what is wrong, where, what would be right.
#[derive(Clone, Debug)]
pub struct Diagnostic {
    pub(crate) message: String,
    pub(crate) place: Option<OriginPlace>,
    pub(crate) label: Option<String>,
    pub(crate) hint: Option<String>,
}

impl Diagnostic {
    /// A problem without a place.
    pub fn new(message: impl Into<String>) -> Diagnostic {
        Diagnostic { message: message.into(), place: None, label: None, hint: None }
    }

    pub(crate) fn at(mut self, place: &OriginPlace) -> Diagnostic {
        self.place = Some(place.clone());
        self
    }

    pub(crate) fn label(mut self, label: impl Into<String>) -> Diagnostic {
        self.label = Some(label.into());
        self
    }

    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Diagnostic {
        self.hint = Some(hint.into());
        self
    }

    pub(crate) fn maybe_hint(mut self, hint: Option<String>) -> Diagnostic {
        self.hint = hint.or(self.hint);
        self
    }

    /// The problem in one line, without its place.
    pub fn message(&self) -> &str {
        &self.message
    }

    fn body(&self) -> Group<'_> {
        let group = Group::with_title(Level::ERROR.primary_title(&*self.message));
        let label = self.label.as_deref();
        match self.place.as_ref().map(|place| (&*place.origin, place.span.clone())) {
            Some((Origin::Text { name, text }, Some(span))) => {
                let mark = AnnotationKind::Primary.span(on_one_line(text, span));
                group.element(Snippet::source(&**text).path(&**name).annotation(mark.label(label)))
            }
            Some((Origin::Text { name, .. } | Origin::Named(name), _)) => {
                with_note(group.element(Path::path(&**name)), label)
            }
            None => with_note(group, label),
        }
    }
}

fn with_note<'a>(group: Group<'a>, label: Option<&'a str>) -> Group<'a> {
    match label {
        Some(label) => group.element(Level::NOTE.no_name().message(label)),
        None => group,
    }
}

/// The part of a span on its first line: a caret under a whole table says nothing. Never past the text, and
/// on character boundaries.
fn on_one_line(text: &str, span: Range<usize>) -> Range<usize> {
    let boundary = |at: usize| (0..=at.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    let (start, end) = (boundary(span.start), boundary(span.end));
    let line = text[start..].find(['\n', '\r']).map_or(text.len(), |length| start + length);
    start..end.clamp(start, line)
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut groups = vec![self.body()];
        if let Some(hint) = &self.hint {
            groups.push(Group::with_title(Level::HELP.with_name("hint").secondary_title(&**hint)));
        }
        let text = Renderer::plain().term_width(WIDTH).render(&groups);
        // The renderer leaves an empty gutter line before the hint; the hint is part of the same problem.
        let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
        let gutter = |line: &str| line.trim() == "|";
        let mut printed = Vec::new();
        for (index, line) in lines.iter().enumerate() {
            let before_hint = lines.get(index + 1).is_some_and(|next| next.starts_with("hint: "));
            if !(gutter(line) && before_hint) {
                printed.push(*line);
            }
        }
        f.write_str(&printed.join("\n"))
    }
}

/// Longer lines are cut around the place, so that a one-line file is still readable.
const WIDTH: usize = 140;

/// Problems that are worded and shown. Each takes time, and who has many mends the first and comes back.
const SHOWN_MAX: usize = 20;

/// Problems as they are found.
#[derive(Debug, Default)]
pub(crate) struct Problems {
    shown: Vec<Diagnostic>,
    /// The number of problems beyond those shown.
    more: usize,
    /// Changes that were made to what was written, and that are no problem.
    notes: Vec<String>,
}

impl Problems {
    /// Says that something was taken otherwise than it was written.
    pub(crate) fn note(&mut self, note: String) {
        self.notes.push(note);
    }

    /// The notes so far.
    pub(crate) fn take_notes(&mut self) -> Vec<String> {
        std::mem::take(&mut self.notes)
    }

    pub(crate) fn push(&mut self, diagnostic: Diagnostic) {
        if !self.is_one_too_many() {
            self.shown.push(diagnostic);
        }
    }

    /// True where there are so many that the next one need not be worded: it is counted.
    pub(crate) fn is_one_too_many(&mut self) -> bool {
        let full = self.shown.len() == SHOWN_MAX;
        self.more += usize::from(full);
        full
    }

    pub(crate) fn extend(&mut self, diagnostics: Vec<Diagnostic>) {
        diagnostics.into_iter().for_each(|diagnostic| self.push(diagnostic));
    }

    /// Adds the problems of a part, each reworded.
    pub(crate) fn adopt(&mut self, part: Problems, reword: impl Fn(Diagnostic) -> Diagnostic) {
        self.extend(part.shown.into_iter().map(reword).collect());
        self.more += part.more;
    }

    pub(crate) fn len(&self) -> usize {
        self.shown.len() + self.more
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.shown.is_empty()
    }
}

/// The problems that were found, in the order of the text; of very many the first. Never empty.
#[derive(Clone, Debug)]
pub struct Diagnostics {
    list: Vec<Diagnostic>,
    more: usize,
}

impl Diagnostics {
    /// Problems in the order of the text, those of the command line last; `base` is the place of the others.
    pub(crate) fn sorted(problems: Problems, base: &OriginPlace) -> Diagnostics {
        let Problems { shown: mut list, more, .. } = problems;
        for diagnostic in &mut list {
            diagnostic.place.get_or_insert_with(|| base.clone());
        }
        list.sort_by_key(|diagnostic| {
            let start = diagnostic.place.as_ref().and_then(|place| place.span.as_ref().map(|span| span.start));
            (start.is_none(), start)
        });
        Diagnostics { list, more }
    }

    /// The problems that are shown.
    pub fn iter(&self) -> impl Iterator<Item = &Diagnostic> {
        self.list.iter()
    }

    /// The number of problems, shown or not.
    pub fn len(&self) -> usize {
        self.list.len() + self.more
    }

    /// True without problems.
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }
}

impl From<Diagnostic> for Diagnostics {
    fn from(diagnostic: Diagnostic) -> Diagnostics {
        Diagnostics { list: vec![diagnostic], more: 0 }
    }
}

impl fmt::Display for Diagnostics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, diagnostic) in self.list.iter().enumerate() {
            if index > 0 {
                f.write_str("\n\n")?;
            }
            write!(f, "{diagnostic}")?;
        }
        match self.more {
            0 => Ok(()),
            1 => f.write_str("\n\nerror: one more problem is not shown"),
            more => write!(f, "\n\nerror: {more} more problems are not shown"),
        }
    }
}

impl std::error::Error for Diagnostics {}

/// A text of the user's, made safe to print in one line: no control characters, and not without end.
pub(crate) fn clean(text: &str) -> String {
    const LENGTH_MAX: usize = 60;
    let cut: String = text.chars().take(LENGTH_MAX).collect();
    let mut out = printable(&cut, &[]);
    if text.chars().count() > LENGTH_MAX {
        out.push('…');
    }
    out
}

/// A text without what a terminal would act on: control characters, but for those in `kept`, and marks that change the
/// direction of writing, which can make a line read as another one.
pub fn printable(text: &str, kept: &[char]) -> String {
    let acts = |c: char| {
        c.is_control() || matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    let escaped =
        |c: char| -> Vec<char> { if acts(c) && !kept.contains(&c) { c.escape_default().collect() } else { vec![c] } };
    text.chars().flat_map(escaped).collect()
}

/// The name most like `word`, if any is like it at all.
pub(crate) fn nearest<'a>(word: &str, names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let folded = |text: &str| text.to_lowercase().replace(['-', ' '], "_");
    let wanted = folded(&word.chars().take(64).collect::<String>());
    let scored = names.into_iter().map(|name| (strsim::damerau_levenshtein(&wanted, &folded(name)), name));
    let close = |(distance, name): &(usize, &str)| {
        *distance <= (name.len().max(wanted.len()) / 3).max(usize::from(name.len() > 2))
    };
    scored.filter(close).min_by_key(|(distance, _)| *distance).map(|(_, name)| name)
}

/// `did you mean …?` where some name is near.
pub(crate) fn did_you_mean<'a>(word: &str, names: impl IntoIterator<Item = &'a str>) -> Option<String> {
    nearest(word, names).map(|name| format!("did you mean `{name}`?"))
}
