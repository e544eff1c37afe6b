//! Protection of paired pages (GCMix, sections 3 and 4).
//!
//! The pages of a wordline share cells. While an upper page is programmed the lower pages of its wordline
//! are at risk: should a power cut or a failure interrupt the program, their data are gone. Every scheme here
//! comes down to one question, asked before an upper page is programmed: **is each valid lower page of its
//! wordline covered**, that is, stored in a second place that stays until the program is done?
//!
//! | scheme | what covers a lower page |
//! |---|---|
//! | `lsb-backup` | a copy in a block of which only the LSB pages are used, made just before |
//! | `parity-backup` | the exclusive-or of two LSB pages, in such a block; in `shadow` order it serves two programs |
//! | `slc-buffer` | the buffer block the page is merged from, erased only when the wordline is complete |
//! | `gcmix` | the victim that the page was copied from, whose erase is held back; else an LSB backup |
//!
//! `page-buffer` and `supercap` cost no flash operation: they decide what a fault destroys. A page that was
//! copied by garbage collection is covered by its victim under every scheme that keeps track.

mod lowers;
mod mixing;
mod steps;

use std::collections::VecDeque;

use base::{Cell, Choice, PageLayout, Param, ParamKind, Ppn, Seam, Selection};

use crate::layer::{Frontier, NONE};
pub(crate) use lowers::{Cover, Lowers};
pub(crate) use mixing::Mix;

const LOW: Param = Param {
    name: "low",
    default: 1.0,
    min: 0.0,
    max: 65_536.0,
    kind: ParamKind::Whole,
    doc: "Mixing begins when at most `free_blocks` + this many blocks of a plane are free (F_low − F_min).",
};
const HIGH: Param = Param {
    name: "high",
    default: 10.0,
    min: 2.0,
    max: 65_536.0,
    kind: ParamKind::Whole,
    doc: "Mixing is suspended when this many blocks of a plane are free (F_high).",
};
const HOLD: Param = Param {
    name: "hold",
    default: 1.0,
    min: 0.0,
    max: 1.0,
    kind: ParamKind::Whole,
    doc: "1: a victim is erased only when every page copied from it is out of danger; 0: as soon as it is empty, which \
          loses data on a power cut (to show why the erase is held back).",
};

static CHOICES: &[Choice] = &[
    Choice { name: "none", doc: "No protection.", params: &[] },
    Choice {
        name: "lsb-backup",
        doc: "A lower page is copied to an LSB-only block before the upper page of its wordline is programmed (Yu and \
              Choi 2010; GCMix Figure 3a).",
        params: &[],
    },
    Choice {
        name: "parity-backup",
        doc: "One page, the exclusive-or of two LSB pages, is written before the first of their MSB pages; MLC (Lee and \
              Shin 2014). With `program_order = \"consecutive\"` it is a backup of each LSB page.",
        params: &[],
    },
    Choice {
        name: "slc-buffer",
        doc: "Host writes go to LSB-only blocks and are merged into full blocks later (Roohparvar 2008; GCMix Figure 3b).",
        params: &[Param {
            name: "blocks",
            default: 8.0,
            min: 1.0,
            max: 65_536.0,
            kind: ParamKind::Whole,
            doc: "Full buffer blocks of a plane at which the oldest is merged.",
        }],
    },
    Choice {
        name: "page-buffer",
        doc: "The controller keeps lower pages in RAM until their wordline is complete: helps against program failures, \
              not against power cuts (Yoon et al. 2011; GCMix Figure 3c).",
        params: &[],
    },
    Choice {
        name: "supercap",
        doc: "A capacitor lets a program under way finish when the power goes: helps against power cuts, not against \
              program failures (Kwon et al. 2011).",
        params: &[],
    },
    Choice {
        name: "gcmix",
        doc: "Valid pages of a victim go to lower pages, host writes to the upper pages above them, and the victim is \
              erased afterwards (GCMix section 4); LSB backup where nothing can be paired.",
        params: &[LOW, HIGH, HOLD],
    },
    Choice {
        name: "gcmix-adaptive",
        doc: "`gcmix` while the workload's locality ω is below a threshold, LSB backup otherwise (GCMix section 4.4); \
              needs `separation.dac`.",
        params: &[
            LOW,
            HIGH,
            HOLD,
            Param {
                name: "tau",
                default: 10.0,
                min: 0.0,
                max: 1e12,
                kind: ParamKind::Number,
                doc: "The threshold τ of ω, which is taken every simulated second.",
            },
        ],
    },
];

/// The seam, for the configuration reader.
pub static SEAM: Seam = Seam { key: "paired_page", doc: "Protection of paired pages.", choices: CHOICES };

/// Whether the protection of that name keeps track of lower pages, with blocks of its own.
pub fn keeps_track(name: &str) -> bool {
    Scheme::of(name).keeps_track()
}

/// How lower pages are kept safe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scheme {
    /// Not at all.
    None,
    /// Copies in an LSB-only block.
    LsbBackup,
    /// Parities in an LSB-only block.
    ParityBackup,
    /// Host writes pass through LSB-only blocks.
    SlcBuffer,
    /// Copies in volatile memory.
    PageBuffer,
    /// Programs under way are finished on the power that is left.
    Supercap,
    /// Originals in victims whose erase is held back; copies where there is none.
    Mixing,
}

impl Scheme {
    fn of(name: &str) -> Scheme {
        match name {
            "none" => Scheme::None,
            "lsb-backup" => Scheme::LsbBackup,
            "parity-backup" => Scheme::ParityBackup,
            "slc-buffer" => Scheme::SlcBuffer,
            "page-buffer" => Scheme::PageBuffer,
            "supercap" => Scheme::Supercap,
            "gcmix" | "gcmix-adaptive" => Scheme::Mixing,
            name => panic!("`{name}` is not a paired-page protection"),
        }
    }

    /// Whether it keeps a block for backups.
    pub fn keeps_backups(self) -> bool {
        matches!(self, Scheme::LsbBackup | Scheme::ParityBackup | Scheme::Mixing)
    }

    /// Whether the FTL follows which lower pages are covered.
    pub fn keeps_track(self) -> bool {
        self.keeps_backups() || self == Scheme::SlcBuffer
    }
}

/// When host writes are paired with the pages of a victim.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Watermarks {
    /// Free units at which mixing begins.
    low: u32,
    /// Free units at which it is suspended.
    high: u32,
    /// Whether victims are kept until nothing depends on them.
    hold: bool,
    /// The threshold of ω.
    tau: Option<f64>,
}

/// What a domain has to do before its next host page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Errand {
    /// Make the next slot of a stream ready for a host page.
    Ready(usize),
    /// Erase what nothing depends on any more.
    Erase,
}

/// What a protection knows of a domain.
#[derive(Clone, Debug)]
pub(crate) struct Guard {
    pub(crate) lowers: Lowers,
    /// The backup unit and its next slot.
    pub(crate) backup: Frontier,
    /// The victim whose pages are paired with host writes.
    pub(crate) mix: Option<Mix>,
    pub(crate) is_mixing: bool,
    /// Empty units whose erase is held back.
    pub(crate) held: Vec<u32>,
    pub(crate) errand: Option<Errand>,
    /// Full buffer units, oldest first.
    pub(crate) buffers: VecDeque<u32>,
    /// Whether a collection for want of room began since the last host page.
    pub(crate) was_short: bool,
}

impl Guard {
    pub(crate) fn new() -> Guard {
        Guard {
            lowers: Lowers::default(),
            backup: Frontier { unit: NONE, slot: 0 },
            mix: None,
            is_mixing: false,
            held: Vec::new(),
            errand: None,
            buffers: VecDeque::new(),
            was_short: false,
        }
    }
}

/// A protection in force.
pub(crate) struct Protection {
    pub(crate) scheme: Scheme,
    pub(crate) watermarks: Option<Watermarks>,
    /// Full buffer units at which the oldest is merged.
    pub(crate) buffer_units: u32,
    /// By domain.
    pub(crate) guards: Vec<Guard>,
    pub(crate) wordlines: Wordlines,
    /// The last ω.
    pub(crate) omega: Option<f64>,
    pub(crate) figures: Figures,
}

/// What a protection did, in pages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Figures {
    /// Host pages that were written above a page copied from a victim for that purpose.
    pub paired: u64,
    /// Host pages written.
    pub host_pages: u64,
}

impl Protection {
    /// Bytes of what is known of so many domains.
    pub(crate) fn bytes(selection: &Selection, domains: u64) -> u64 {
        if Scheme::of(selection.name).keeps_track() { domains * size_of::<Guard>() as u64 } else { 0 }
    }

    pub(crate) fn new(selection: &Selection, reserve: u32, domains: u32, wordlines: Wordlines) -> Protection {
        let scheme = Scheme::of(selection.name);
        let watermarks = (scheme == Scheme::Mixing).then(|| Watermarks {
            low: reserve + selection.get("low") as u32,
            high: selection.get("high") as u32,
            hold: selection.get("hold") == 1.0,
            tau: (selection.name == "gcmix-adaptive").then(|| selection.get("tau")),
        });
        Protection {
            scheme,
            watermarks,
            buffer_units: if scheme == Scheme::SlcBuffer { selection.get("blocks") as u32 } else { 0 },
            guards: if scheme.keeps_track() { vec![Guard::new(); domains as usize] } else { Vec::new() },
            wordlines,
            omega: None,
            figures: Figures::default(),
        }
    }

    /// Forgets figures and the workload's locality, not what is on flash.
    pub(crate) fn restart(&mut self) {
        self.omega = None;
        self.figures = Figures::default();
        self.guards.iter_mut().for_each(|guard| guard.is_mixing = false);
    }

    /// Units of a domain that hold no closed data pages, besides the reserve and the frontiers.
    pub(crate) fn units_aside(selection: &Selection, wordlines: &Wordlines) -> u32 {
        match Scheme::of(selection.name) {
            Scheme::SlcBuffer => selection.get("blocks") as u32 + wordlines.most_open(),
            scheme => u32::from(scheme.keeps_backups()),
        }
    }
}

/// Which pages of a block share cells, by page offset.
#[derive(Clone, Debug)]
pub(crate) struct Wordlines {
    /// Wordline.
    line: Vec<u16>,
    /// Page type, 0 for LSB.
    kind: Vec<u8>,
    /// The page type that completes a wordline.
    top: u8,
}

impl Wordlines {
    pub(crate) fn new(cell: Cell, layout: &PageLayout) -> Wordlines {
        let pages = layout.len() as u32;
        Wordlines {
            line: (0..pages).map(|page| layout.wordline(page) as u16).collect(),
            kind: (0..pages).map(|page| layout.page_type(page).0).collect(),
            top: cell.bits() as u8 - 1,
        }
    }

    /// Whether the page is the first of its wordline.
    #[inline]
    pub(crate) fn is_lsb(&self, page: u32) -> bool {
        self.kind[page as usize] == 0
    }

    /// Whether the page completes its wordline.
    #[inline]
    pub(crate) fn is_top(&self, page: u32) -> bool {
        self.kind[page as usize] == self.top
    }

    /// Whether two pages share cells.
    #[inline]
    pub(crate) fn share(&self, first: u32, second: u32) -> bool {
        self.line[first as usize] == self.line[second as usize]
    }

    /// Lower pages whose wordlines are not complete, at most, while a block is filled.
    pub(crate) fn most_open(&self) -> u32 {
        let mut open = 0;
        let mut most = 0;
        for page in 0..self.kind.len() as u32 {
            if self.is_top(page) {
                open -= u32::from(self.top);
            } else {
                open += 1;
            }
            most = most.max(open);
        }
        most
    }

    /// The LSB page after a page; the block's length if there is none.
    pub(crate) fn next_lsb(&self, page: u32) -> u32 {
        let len = self.kind.len() as u32;
        (page + 1..len).find(|&next| self.is_lsb(next)).unwrap_or(len)
    }
}

/// The unit of a page is `unit`.
#[inline]
pub(crate) fn lies_in(page: Ppn, unit: u32, slots: u32) -> bool {
    page.0 / slots == unit
}
