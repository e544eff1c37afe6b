//! The configs that ship with the program.

/// A config that ships with the program.
#[derive(Clone, Copy, Debug)]
pub struct Preset {
    /// The name that `ftlab run` and `preset = "…"` take.
    pub name: &'static str,
    /// The whole file.
    pub text: &'static str,
}

impl Preset {
    /// What it is, in one line: the file's first comment.
    pub fn description(&self) -> &'static str {
        self.text.lines().next().unwrap_or("").trim_start_matches('#').trim()
    }
}

macro_rules! presets {
    ($($name:literal),+ $(,)?) => {
        /// Every preset, by name.
        pub static PRESETS: &[Preset] =
            &[$(Preset { name: $name, text: include_str!(concat!("../../../presets/", $name, ".toml")) }),+];
    };
}

presets!(
    "tbm",
    "tbm-small",
    "client-tlc",
    "client-tlc-small",
    "enterprise-tlc",
    "enterprise-tlc-small",
    "qlc",
    "qlc-small",
    "modern-tlc",
    "modern-tlc-small",
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
