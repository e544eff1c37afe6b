//! The configs that ship with the program. Each is written whole, or as what differs from another one: its first key says
//! from which, as that of a user's file may. Who reads or prints a preset gets the whole, with the comments of both.

use std::sync::{Arc, LazyLock};

use crate::diagnostic::{Diagnostic, Origin, clean, did_you_mean};
use crate::document::{self, Node, Value};
use crate::keys::SECTIONS;
use crate::tree::given_up;
use crate::units::list;

/// A config that ships with the program.
#[derive(Clone, Copy, Debug)]
pub struct Preset {
    /// The name that `ftlab run` and `preset = "…"` take.
    pub name: &'static str,
    /// The file as it is written: whole, or what differs from its base.
    own: &'static str,
}

/// The first preset that is the device of a paper; drives are before it.
const FIRST_OF_PAPERS: &str = "tbm";

impl Preset {
    /// True for the device of a paper or of a study, false for a drive.
    pub fn is_of_paper(&self) -> bool {
        let place = |name| PRESETS.iter().position(|preset| preset.name == name);
        place(self.name) >= place(FIRST_OF_PAPERS)
    }

    /// One line about it: the file's first comment.
    pub fn description(&self) -> &'static str {
        self.own.lines().next().unwrap_or("").trim_start_matches('#').trim()
    }

    /// The whole config as TOML, with every key and the comments of the presets that it builds on.
    ///
    /// # Panics
    /// If the presets build on one that is not there, or on each other in a circle: a fault of this program.
    pub fn text(&self) -> &'static str {
        let of_name = |(preset, _): &&(&Preset, String)| preset.name == self.name;
        WHOLE.iter().find(of_name).map_or("", |(_, text)| text)
    }
}

/// Every preset with its whole text.
static WHOLE: LazyLock<Vec<(&Preset, String)>> = LazyLock::new(|| {
    let text = |preset| whole(preset, PRESETS).unwrap_or_else(|problem| panic!("{problem}"));
    PRESETS.iter().map(|preset| (preset, text(preset))).collect()
});

macro_rules! presets {
    ($($name:literal),+ $(,)?) => {
        /// Every preset, by name.
        pub static PRESETS: &[Preset] =
            &[$(Preset { name: $name, own: include_str!(concat!("../../../presets/", $name, ".toml")) }),+];
    };
}

// Drives first, then the devices of papers.
presets!(
    "client-tlc",
    "client-tlc-small",
    "client-tlc-slc",
    "client-tlc-slc-small",
    "client-qlc",
    "client-qlc-small",
    "enterprise-tlc",
    "enterprise-tlc-small",
    "qlc",
    "qlc-small",
    "qlc-dense",
    "qlc-dense-small",
    "tbm",
    "tbm-small",
    "stack",
    "gcmix-px",
    "gcmix-p",
    "gcmix-pm",
    "gcmix-dx",
    "gcmix-d",
    "gcmix-dm",
    "gcmix-dml",
    "gcf-sync",
    "gcf-fi",
    "gcf-gcf",
    "gcf-cf",
    "rcftl",
    "rcftl-small",
    "ipr",
    "ipr-small",
);

/// The preset of that name.
pub fn preset(name: &str) -> Option<&'static Preset> {
    PRESETS.iter().find(|preset| preset.name == name)
}

/// The key with which a config names the preset that it builds on.
pub(crate) const BASE: &str = "preset";

/// The preset that a config builds on, of all there are.
pub(crate) fn named<'a>(node: &Node, all: &'a [Preset]) -> Result<&'a Preset, Diagnostic> {
    let Value::String(name) = &node.value else {
        let names = list(all.iter().map(|preset| preset.name));
        let label = format!("found {}; expected one of {names}", node.found());
        return Err(Diagnostic::new(format!("`{BASE}` has a value of the wrong type")).at(&node.place).label(label));
    };
    let found = all.iter().find(|preset| preset.name == name);
    found.ok_or_else(|| unknown(name, all).at(&node.place))
}

/// The refusal of a name that no preset has.
pub(crate) fn unknown(name: &str, all: &[Preset]) -> Diagnostic {
    let names = || all.iter().map(|preset| preset.name);
    Diagnostic::new(format!("unknown preset `{}`", clean(name)))
        .label(format!("expected one of {}", list(names())))
        .maybe_hint(did_you_mean(name, names()))
}

/// The whole text of a preset.
fn whole(preset: &Preset, all: &[Preset]) -> Result<String, Diagnostic> {
    let mut chain = vec![*preset];
    while let Some(node) = base(&chain[chain.len() - 1])? {
        let below = named(&node, all)?;
        if chain.iter().any(|above| above.name == below.name) {
            let names = chain.iter().map(|preset| format!("`{}`", preset.name)).collect::<Vec<_>>().join(" on ");
            let title = format!("presets build on each other in a circle: {names} on `{}`", below.name);
            return Err(Diagnostic::new(title).at(&node.place).label("expected a preset that builds on none of these"));
        }
        chain.push(*below);
    }
    let keys = chain.iter().rev().map(|preset| keys(preset.own)).reduce(over).unwrap_or_default();
    Ok(printed(head(preset.own), &keys))
}

/// The value of the key that names a preset's own base.
fn base(preset: &Preset) -> Result<Option<Node>, Diagnostic> {
    let origin = Origin::Text { name: format!("{BASE} {}", preset.name), text: preset.own.to_owned() };
    let mut entries = document::parse(&Arc::new(origin)).map_err(|mut problems| problems.remove(0))?;
    Ok(entries.iter().position(|entry| entry.key == BASE).map(|at| entries.swap_remove(at).node))
}

/// A key of a preset: a choice with its parameters is one, though each may have a line.
struct KeyLines {
    section: &'static str,
    path: String,
    /// Comments on lines of their own, before it.
    above: Vec<String>,
    lines: Vec<String>,
}

/// The comments that a text begins with.
fn head(text: &str) -> impl Iterator<Item = &str> {
    text.lines().take_while(|line| line.starts_with('#'))
}

/// The keys below them.
fn keys(text: &str) -> Vec<KeyLines> {
    let mut keys: Vec<KeyLines> = Vec::new();
    let (mut table, mut above) = ("", Vec::new());
    for line in text.lines().skip(head(text).count()).filter(|line| !line.is_empty()) {
        if let Some(name) = line.strip_prefix('[').and_then(|line| line.strip_suffix(']')) {
            table = name;
        } else if line.starts_with('#') {
            above.push(line.to_owned());
        } else if line.starts_with(' ') {
            // A comment that goes on.
            keys.iter_mut().last().into_iter().for_each(|last| last.lines.push(line.to_owned()));
        } else if let Some((section, line)) = placed(table, line) {
            let name = line.split(['.', ' ', '=']).next().unwrap_or_default();
            let path = format!("{section}.{name}");
            match keys.iter_mut().find(|key| key.path == path) {
                Some(key) => key.lines.extend(above.drain(..).chain([line])),
                None => keys.push(KeyLines { section, path, above: std::mem::take(&mut above), lines: vec![line] }),
            }
        }
    }
    keys
}

/// The section that a line of a table belongs to, and the line as it stands there; none of `preset`.
fn placed(table: &str, line: &str) -> Option<(&'static str, String)> {
    let path = if table.is_empty() { line.to_owned() } else { format!("{table}.{line}") };
    let inside = SECTIONS.iter().filter_map(|(name, _)| Some((*name, path.strip_prefix(name)?.strip_prefix('.')?)));
    let (section, rest) = inside.max_by_key(|(name, _)| name.len())?;
    let line = if section == table { line.to_owned() } else { aligned(rest) };
    Some((section, line))
}

/// Where comments begin, if there is room.
const COMMENTS: usize = 31;

/// A line that lost its table, with its comment where those of other lines are.
fn aligned(line: &str) -> String {
    match line.split_once(" #") {
        Some((said, comment)) => format!("{:<COMMENTS$}#{comment}", format!("{} ", said.trim_end())),
        None => line.to_owned(),
    }
}

/// The keys of a preset over those of its base: each takes the place of its own, and a new one stands at the end of its section.
fn over(mut lower: Vec<KeyLines>, upper: Vec<KeyLines>) -> Vec<KeyLines> {
    let has = |keys: &[KeyLines], path: &str| keys.iter().any(|key| key.path == path);
    let gone = given_up(|path| has(&lower, path), |path| has(&upper, path));
    lower.retain(|key| !gone.contains(&&*key.path) || has(&upper, &key.path));
    for key in upper {
        if let Some(below) = lower.iter_mut().find(|below| below.path == key.path) {
            below.above.extend(key.above);
            below.lines = key.lines;
        } else {
            let end = lower.iter().rposition(|below| below.section == key.section).map_or(lower.len(), |at| at + 1);
            lower.insert(end, key);
        }
    }
    lower
}

/// The text of a head and of keys.
fn printed<'a>(head: impl Iterator<Item = &'a str>, keys: &[KeyLines]) -> String {
    let mut text: String = head.flat_map(|line| [line, "\n"]).collect();
    let mut section = "";
    for key in keys {
        if key.section != section {
            section = key.section;
            text.extend(["\n[", section, "]\n"]);
        }
        text.extend(key.above.iter().chain(&key.lines).flat_map(|line| [line.as_str(), "\n"]));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROOT: &str = "# A drive.\n#\n# Of ours.\n\n\
        [device]\nchannels = 8                   # many\n# cell: one of four\ncell = \"tlc\"\nblocks_per_plane = 64\n\
        user_capacity = \"8GiB\"\nover_provisioning = 0.1\n\n\
        [device.timing]\nread = \"50us\"                  # fast\n                               # indeed\n\n\
        [ftl]\nallocation = \"F2\"\nbinding = \"dynamic\"\nwrite_buffer.fifo.size = \"1MiB\"\nwrite_buffer.fifo.flush = \"free\"\n";

    fn of(presets: &'static [(&str, &str)]) -> Vec<Preset> {
        presets.iter().map(|(name, own)| Preset { name, own }).collect()
    }

    #[test]
    fn a_whole_preset_is_printed_as_it_is_written() {
        for preset in PRESETS.iter().filter(|preset| base(preset).unwrap().is_none()) {
            assert_eq!(preset.text(), preset.own, "{}", preset.name);
        }
        let all = [Preset { name: "root", own: ROOT }];
        assert_eq!(whole(&all[0], &all).unwrap(), ROOT);
    }

    #[test]
    fn differences_take_their_keys_places_with_their_comments() {
        let all = of(&[
            ("root", ROOT),
            (
                "few",
                "# Few.\n\npreset = \"root\"\ndevice.channels = 2            # few\ndevice.timing.erase = \"5ms\"\n",
            ),
            (
                "last",
                "# Last.\n# Of all.\npreset = \"few\"\n\n[device]\n# Less.\ncell = \"slc\"\nuser_capacity = \"4GiB\"   # half\n\n\
                 [ftl]\nwrite_buffer = \"none\"\nallocation = \"CWDP\"\n\n[run]\nseed = 2\n",
            ),
        ]);
        insta::assert_snapshot!(whole(&all[2], &all).unwrap(), @r#"
        # Last.
        # Of all.

        [device]
        channels = 2                   # few
        # cell: one of four
        # Less.
        cell = "slc"
        blocks_per_plane = 64
        user_capacity = "4GiB"   # half

        [device.timing]
        read = "50us"                  # fast
                                       # indeed
        erase = "5ms"

        [ftl]
        allocation = "CWDP"
        write_buffer = "none"

        [run]
        seed = 2
        "#);
    }

    #[test]
    fn a_base_that_is_not_there_and_a_circle_are_refused_with_their_places() {
        let all = of(&[
            ("client", "preset = \"clint\"\n"),
            ("a", "# One.\npreset = \"b\"\n"),
            ("b", "preset = \"c\"\n"),
            ("c", "preset = \"a\"\n"),
            ("number", "preset = 4\n"),
        ]);
        let refused: Vec<String> =
            all.iter().map(|preset| whole(preset, &all).expect_err("no base").to_string()).collect();
        insta::assert_snapshot!(refused.join("\n"), @r#"
        error: unknown preset `clint`
         --> preset client:1:10
          |
        1 | preset = "clint"
          |          ^^^^^^^ expected one of `client`, `a`, `b`, `c`, `number`
        hint: did you mean `client`?
        error: presets build on each other in a circle: `a` on `b` on `c` on `a`
         --> preset c:1:10
          |
        1 | preset = "a"
          |          ^^^ expected a preset that builds on none of these
        error: presets build on each other in a circle: `b` on `c` on `a` on `b`
         --> preset a:2:10
          |
        2 | preset = "b"
          |          ^^^ expected a preset that builds on none of these
        error: presets build on each other in a circle: `c` on `a` on `b` on `c`
         --> preset b:1:10
          |
        1 | preset = "c"
          |          ^^^ expected a preset that builds on none of these
        error: `preset` has a value of the wrong type
         --> preset number:1:10
          |
        1 | preset = 4
          |          ^ found 4; expected one of `client`, `a`, `b`, `c`, `number`
        "#);
    }
}
