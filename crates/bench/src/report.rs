//! Medians, targets, ratios to the limit, and the tables.

use std::fmt::Write;

use serde_json::{Value, json};

use crate::cases::{Case, EngineRun, FtlSet, Mix, Size};
use crate::child::Execution;
use crate::features::{Dies, DriveRun, FeatureRun};
use crate::mechanisms::{Mechanism, MechanismRun};

/// The target of a figure.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Goal {
    AtLeast(f64),
    AtMost(f64),
}

impl Goal {
    fn met(self, value: f64) -> bool {
        match self {
            Goal::AtLeast(least) => value >= least,
            Goal::AtMost(most) => value <= most,
        }
    }

    fn text(self) -> String {
        let (sign, bound) = match self {
            Goal::AtLeast(least) => ('≥', least),
            Goal::AtMost(most) => ('≤', most),
        };
        format!("{sign} {bound:.4}").trim_end_matches('0').trim_end_matches('.').to_owned()
    }
}

/// A figure with a target.
#[derive(Clone, Debug)]
struct Measured {
    name: String,
    value: f64,
    unit: &'static str,
    target: Goal,
}

/// An engine run with a target.
#[derive(Clone, Debug)]
struct Speed {
    figure: Measured,
    /// Part of what the limit loop does on the same workload.
    of_limit: Option<f64>,
    /// Part of the floor loop's speed on the same size and mix, with time.
    of_floor: Option<f64>,
    rates: Rates,
}

/// The figures of every engine run.
#[derive(Clone, Debug)]
struct Rates {
    name: String,
    /// Flash operations per CPU second, in millions.
    ops: f64,
    /// Host writes per CPU second, in millions.
    writes: f64,
    waf: f64,
    user_s: f64,
    peak_rss_mb: f64,
}

impl Rates {
    /// Headings of the columns that [`Rates::cells`] fills.
    const HEADINGS: [&str; 4] = ["M host writes per CPU s", "WAF", "process, user CPU s", "peak RSS, MB"];

    fn cells(&self) -> [String; 4] {
        [
            format!("{:.2}", self.writes),
            format!("{:.3}", self.waf),
            format!("{:.2}", self.user_s),
            format!("{:.0}", self.peak_rss_mb),
        ]
    }

    fn add_to(&self, row: &mut Value) {
        row["host_writes_per_cpu_s"] = json!(self.writes);
        row["waf"] = json!(self.waf);
        row["process_user_cpu_s"] = json!(self.user_s);
        row["peak_rss_mb"] = json!(self.peak_rss_mb);
    }
}

/// The figures of a drive past the filling of its write buffer.
#[derive(Clone, Debug)]
struct DriveRates {
    name: String,
    /// Requests of the host per CPU second, in millions.
    requests: f64,
    rates: Rates,
    iops: f64,
    /// Of a request: turns of the loop, units of 4 KiB programmed, flash operations.
    of_request: [f64; 3],
}

/// The results.
pub(crate) struct BenchReport {
    machine: String,
    repeat: usize,
    /// By name: what the machine and the limit loop gave.
    context: Vec<(String, f64)>,
    speeds: Vec<Speed>,
    /// Runs with mechanisms and with features of the chip, for comparison before and after a change.
    mechanisms: Vec<Rates>,
    /// Runs as drives, likewise.
    drives: Vec<DriveRates>,
    others: Vec<Measured>,
}

/// The unit of an engine run.
const RATE: &str = "M flash ops per CPU s";
/// Pages of 8 KiB of the full device.
const FULL_PAGES: f64 = 33_554_432.0;
/// Bytes per physical page, and besides, that the full device may hold.
const BYTES_PER_PAGE: f64 = 12.0;
const BYTES_BESIDES: f64 = 64e6;
/// Bytes per physical page of devices of terabytes: two words of four bytes, and one in twenty for what is kept of blocks.
const HUGE_BYTES_PER_PAGE: f64 = 8.4;
/// Two runs of the same differ by so much on a quiet machine; a deeper queue counts as slower beyond it.
const NOISE: f64 = 0.03;

impl BenchReport {
    /// From the repetitions of each case.
    pub(crate) fn new(cases: &[Case], samples: &[Vec<Execution>]) -> BenchReport {
        let results = Results { cases, samples };
        let runs = cases.iter().filter_map(|case| if let Case::Run(run) = case { Some(run) } else { None });
        BenchReport {
            machine: machine(),
            repeat: samples.first().map_or(0, Vec::len),
            context: results.context(),
            speeds: runs.map(|run| results.speed(run)).collect(),
            mechanisms: results.mechanisms(),
            drives: results.drives(),
            others: results.others(),
        }
    }

    /// True if every target was met.
    pub(crate) fn all_met(&self) -> bool {
        self.speeds.iter().map(|speed| &speed.figure).chain(&self.others).all(|f| f.target.met(f.value))
    }

    /// One JSON object.
    pub(crate) fn json(&self) -> Value {
        let figure = |f: &Measured| {
            json!({
                "name": f.name, "value": f.value, "unit": f.unit, "target": f.target.text(),
                "met": f.target.met(f.value),
            })
        };
        let speeds: Vec<Value> = self
            .speeds
            .iter()
            .map(|speed| {
                let mut row = figure(&speed.figure);
                row["of_limit"] = json!(speed.of_limit);
                row["of_floor"] = json!(speed.of_floor);
                speed.rates.add_to(&mut row);
                row
            })
            .collect();
        let mechanisms: Vec<Value> = self
            .mechanisms
            .iter()
            .map(|rates| {
                let mut row = json!({ "name": rates.name, "value": rates.ops, "unit": RATE });
                rates.add_to(&mut row);
                row
            })
            .collect();
        let drives: Vec<Value> = self
            .drives
            .iter()
            .map(|drive| {
                let [turns, units, operations] = drive.of_request;
                let mut row = json!({
                    "name": drive.name, "value": drive.requests, "unit": "M requests per CPU s", "iops": drive.iops,
                    "flash_ops_per_cpu_s": drive.rates.ops, "turns_per_request": turns, "units_per_request": units,
                    "flash_ops_per_request": operations,
                });
                drive.rates.add_to(&mut row);
                row
            })
            .collect();
        let context: serde_json::Map<String, Value> =
            self.context.iter().map(|(name, value)| (name.clone(), json!(value))).collect();
        json!({
            "schema": "ftlab.bench/1",
            "machine": self.machine,
            "repeat": self.repeat,
            "context": context,
            "engine": speeds,
            "mechanisms": mechanisms,
            "drives": drives,
            "others": self.others.iter().map(figure).collect::<Vec<_>>(),
            "all_met": self.all_met(),
        })
    }

    /// The tables as Markdown.
    pub(crate) fn markdown(&self) -> String {
        let mut text = format!("{}; medians of {}.\n", self.machine, self.repeat);
        for table in self.tables() {
            let _ = write!(text, "\n| {} |\n|{}\n", table[0].join(" | "), "---|".repeat(table[0].len()));
            for row in &table[1..] {
                let _ = writeln!(text, "| {} |", row.join(" | "));
            }
        }
        text
    }

    /// The tables for a terminal.
    pub(crate) fn text(&self) -> String {
        let mut text = format!("{}; medians of {}.\n", self.machine, self.repeat);
        for table in self.tables() {
            text.push('\n');
            let width = |column: usize| table.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
            for row in &table {
                let mut line = String::new();
                for (column, cell) in row.iter().enumerate() {
                    let pad = " ".repeat(width(column) - cell.chars().count());
                    let (before, after) = if column == 0 { ("", pad.as_str()) } else { (pad.as_str(), "") };
                    let _ = write!(line, "{before}{cell}{after}  ");
                }
                text.push_str(line.trim_end());
                text.push('\n');
            }
        }
        text
    }

    /// Each table as rows of cells, the heading first; empty tables are left out.
    fn tables(&self) -> Vec<Vec<Vec<String>>> {
        let tables =
            [self.speed_table(), self.mechanism_table(), self.drive_table(), self.other_table(), self.context_table()];
        tables.into_iter().filter(|table| table.len() > 1).collect()
    }

    fn speed_table(&self) -> Vec<Vec<String>> {
        let heading = ["engine", RATE, "target", "", "of the limit", "of the floor"];
        let mut rows = vec![row(heading, Rates::HEADINGS)];
        for speed in &self.speeds {
            let f = &speed.figure;
            let part = |part: Option<f64>| part.map_or("-".into(), |part| format!("{:.0} %", part * 100.0));
            let parts = [part(speed.of_limit), part(speed.of_floor)];
            let own = [f.name.clone(), format!("{:.2}", f.value), f.target.text(), verdict(f)];
            let own: Vec<String> = own.into_iter().chain(parts).collect();
            rows.push(row(own, speed.rates.cells()));
        }
        rows
    }

    fn mechanism_table(&self) -> Vec<Vec<String>> {
        let mut rows = vec![row(["mechanism or feature", RATE], Rates::HEADINGS)];
        rows.extend(self.mechanisms.iter().map(|r| row([r.name.clone(), format!("{:.2}", r.ops)], r.cells())));
        rows
    }

    fn drive_table(&self) -> Vec<Vec<String>> {
        let of_request = ["turns a request", "4 KiB programmed", "flash ops"];
        let heading = ["drive", "M requests per CPU s", RATE, "IOPS"].into_iter().chain(of_request);
        let mut rows = vec![row(heading, Rates::HEADINGS)];
        for drive in &self.drives {
            let own = [drive.name.clone(), format!("{:.3}", drive.requests), format!("{:.2}", drive.rates.ops)];
            let iops = [format!("{:.0}", drive.iops)];
            let of_request =
                drive.of_request.map(|figure| if figure.is_nan() { "-".into() } else { format!("{figure:.2}") });
            rows.push(row(own.into_iter().chain(iops).chain(of_request), drive.rates.cells()));
        }
        rows
    }

    fn other_table(&self) -> Vec<Vec<String>> {
        let mut rows = vec![["figure", "value", "unit", "target", ""].map(String::from).to_vec()];
        for f in &self.others {
            let value = format!("{:.2}", f.value);
            rows.push(vec![f.name.clone(), value, f.unit.into(), f.target.text(), verdict(f)]);
        }
        rows
    }

    fn context_table(&self) -> Vec<Vec<String>> {
        let mut rows = vec![["the machine and its limit", "value"].map(String::from).to_vec()];
        for (name, value) in &self.context {
            // Rates are large numbers; nanoseconds and amplifications are small.
            let cell = if *value >= 1e4 { format!("{:.1} M", value / 1e6) } else { format!("{value:.2}") };
            rows.push(vec![name.clone(), cell]);
        }
        rows
    }
}

/// A row of its own cells and those of its rates.
fn row<T: Into<String>>(own: impl IntoIterator<Item = T>, rates: [T; 4]) -> Vec<String> {
    own.into_iter().chain(rates).map(Into::into).collect()
}

fn verdict(figure: &Measured) -> String {
    if figure.target.met(figure.value) { "met".into() } else { "MISSED".into() }
}

/// The samples of each case.
struct Results<'a> {
    cases: &'a [Case],
    samples: &'a [Vec<Execution>],
}

/// Millions of flash operations per CPU second that a run is to reach.
fn least(run: &EngineRun) -> f64 {
    let of_writes = match (run.timed, run.size, run.choices) {
        (false, Size::Small, _) => return 30.0,
        (false, _, _) => return 20.0,
        (true, Size::Small, FtlSet::Static) => 20.0,
        (true, Size::Small, FtlSet::Paper) => 12.0,
        (true, Size::Full, FtlSet::Static) => 15.0,
        (true, Size::Full, FtlSet::Paper) => 10.0,
        (true, _, _) => 11.5,
    };
    // Of a mix, at least four fifths of that.
    if run.mix == Mix::Mixed { 0.8 * of_writes } else { of_writes }
}

impl Results<'_> {
    fn samples(&self, case: Case) -> Option<&[Execution]> {
        let at = self.cases.iter().position(|&other| other == case)?;
        Some(&self.samples[at])
    }

    /// The median of a figure.
    fn get(&self, case: Case, name: &str) -> Option<f64> {
        Some(median(self.samples(case)?.iter().map(|sample| value(sample, name)).collect()))
    }

    fn speed(&self, run: &EngineRun) -> Speed {
        let case = Case::Run(*run);
        let rates = self.rates(case);
        let limit = format!("{}{}.ops_per_s", run.mix.name(), if run.timed { "_clocks" } else { "" });
        let floor = format!("{}.ops_per_s", run.mix.name());
        let target = Goal::AtLeast(least(run));
        Speed {
            figure: Measured { name: rates.name.clone(), value: rates.ops, unit: RATE, target },
            of_limit: self.get(Case::Limit(run.size), &limit).map(|limit| rates.ops * 1e6 / limit),
            of_floor: self
                .get(Case::Floor(run.size, run.depth), &floor)
                .filter(|_| run.timed)
                .map(|floor| rates.ops * 1e6 / floor),
            rates,
        }
    }

    fn mechanisms(&self) -> Vec<Rates> {
        let of_engine = self.cases.iter().filter(|case| matches!(case, Case::Mechanism(_) | Case::Feature(_)));
        of_engine.map(|&case| self.rates(case)).collect()
    }

    fn drives(&self) -> Vec<DriveRates> {
        let drives = self.cases.iter().filter(|case| matches!(case, Case::Drive(_)));
        let rates = |&case: &Case| {
            let get = |name| self.get(case, name).unwrap_or(f64::NAN);
            DriveRates {
                name: case.name(),
                requests: get("requests_per_s") / 1e6,
                rates: self.rates(case),
                iops: get("iops"),
                of_request: ["turns_per_request", "units_per_request", "operations_per_request"].map(get),
            }
        };
        drives.map(rates).collect()
    }

    fn rates(&self, case: Case) -> Rates {
        let get = |name| self.get(case, name).unwrap_or(f64::NAN);
        let samples = self.samples(case).unwrap_or_default();
        Rates {
            name: case.name(),
            ops: get("ops_per_s") / 1e6,
            writes: get("writes_per_s") / 1e6,
            waf: get("waf"),
            user_s: median(samples.iter().map(|sample| sample.user_s).collect()),
            peak_rss_mb: peak(samples),
        }
    }

    fn others(&self) -> Vec<Measured> {
        let mut figures = Vec::new();
        figures.extend(self.depth());
        figures.extend(self.many_dies());
        figures.extend(self.drive_on_many_dies());
        figures.extend(self.stack());
        figures.extend(self.state());
        figures.extend([Mix::Write, Mix::Mixed].into_iter().filter_map(|mix| self.null(mix)));
        figures.extend([Mix::Write, Mix::Mixed].into_iter().flat_map(|mix| self.beside_floor(mix)));
        figures.extend(self.of_limit());
        figures.extend(self.memory());
        for &case in self.cases {
            if let Case::Trace(_) = case
                && let Some(rate) = self.get(case, "requests_per_s")
            {
                let target = Goal::AtLeast(5.0);
                figures.push(Measured { name: case.name(), value: rate / 1e6, unit: "M requests per CPU s", target });
            }
        }
        figures
    }

    /// Speed at queue depth 256 over that at 16, from the same repetition.
    fn depth(&self) -> Vec<Measured> {
        let deep = self.cases.iter().filter_map(|case| match case {
            Case::Run(run) if run.depth == 256 => Some(*run),
            _ => None,
        });
        deep.filter_map(|run| {
            let deep = self.samples(Case::Run(run))?;
            let shallow = self.samples(Case::Run(EngineRun { depth: 16, ..run }))?;
            let rate = |sample: &Execution| value(sample, "ops_per_s");
            let ratios = deep.iter().zip(shallow).map(|(deep, shallow)| rate(deep) / rate(shallow)).collect();
            Some(Measured {
                name: format!("queue depth 256 ÷ 16, {}", run.choices.name()),
                value: median(ratios),
                unit: "of the speed",
                target: Goal::AtLeast(1.0 - NOISE),
            })
        })
        .collect()
    }

    /// The cost of an operation on 1,024 dies, over that on 32, from the same repetition.
    fn many_dies(&self) -> Option<Measured> {
        let run = self.cases.iter().find_map(|case| match case {
            Case::Run(run) if run.size == Size::Wide => Some(*run),
            _ => None,
        })?;
        let many = self.samples(Case::Run(run))?;
        let few = self.samples(Case::Run(EngineRun { size: Size::Full, ..run }))?;
        let rate = |sample: &Execution| value(sample, "ops_per_s");
        Some(Measured {
            name: format!("1,024 dies ÷ 32, {}", run.choices.name()),
            value: median(few.iter().zip(many).map(|(few, many)| rate(few) / rate(many)).collect()),
            unit: "of the cost of an operation",
            target: Goal::AtMost(1.3),
        })
    }

    /// The cost of a write on a drive of 512 dies, over that on 32 with as much flash.
    fn drive_on_many_dies(&self) -> Option<Measured> {
        let [few, many] = [Dies::Few, Dies::Many].map(|dies| Case::Drive(DriveRun::over(dies)));
        let cost = |few: &Execution, many: &Execution| value(few, "requests_per_s") / value(many, "requests_per_s");
        let value = self.of_pairs(few, many, cost)?;
        let name = "512 dies ÷ 32, a write of a drive".into();
        Some(Measured { name, value, unit: "of the CPU time of a request", target: Goal::AtMost(1.3) })
    }

    /// The systems of all papers together.
    fn stack(&self) -> Option<Measured> {
        let case = Case::Mechanism(MechanismRun { mechanism: Mechanism::Stack, timed: true });
        let value = self.get(case, "ops_per_s")? / 1e6;
        Some(Measured { name: case.name(), value, unit: RATE, target: Goal::AtLeast(6.0) })
    }

    /// Reading the state of a drive.
    fn state(&self) -> Vec<Measured> {
        let figure = |name: &str, unit, most| {
            let (value, target) = (self.get(Case::LoadState, name)?, Goal::AtMost(most));
            Some(Measured { name: format!("{}, {unit}", Case::LoadState.name()), value, unit, target })
        };
        let figures = [figure("ns_per_unit", "ns per unit", 15.0), figure("bytes_per_unit", "bytes per unit", 4.0)];
        figures.into_iter().flatten().collect()
    }

    /// The medians over pairs of one repetition.
    fn of_pairs(&self, first: Case, second: Case, figure: impl Fn(&Execution, &Execution) -> f64) -> Option<f64> {
        let (first, second) = (self.samples(first)?, self.samples(second)?);
        Some(median(first.iter().zip(second).map(|(first, second)| figure(first, second)).collect()))
    }

    /// The cost of an operation with a feature that changes nothing, over that without.
    fn null(&self, mix: Mix) -> Option<Measured> {
        let plain = EngineRun { timed: true, size: Size::Small, mix, choices: FtlSet::Static, depth: 32 };
        let case = Case::Feature(FeatureRun::Null(mix));
        let cost = |plain: &Execution, null: &Execution| value(plain, "ops_per_s") / value(null, "ops_per_s");
        let ratio = self.of_pairs(Case::Run(plain), case, cost)?;
        let name = format!("{} ÷ the plain device", case.name());
        Some(Measured { name, value: ratio, unit: "of the cost of an operation", target: Goal::AtMost(1.3) })
    }

    /// The drive beside its floor: what a request costs, and how far figures lie apart. Reads of a mix are compared, as half of its writes
    /// wait for room and half do not.
    fn beside_floor(&self, mix: Mix) -> Vec<Measured> {
        let (drive, floor) = (Case::Drive(DriveRun::of_floor(mix)), Case::DriveFloor(mix));
        let kind = if mix == Mix::Mixed { "read" } else { "write" };
        let apart = |engine: &Execution, floor: &Execution, name: &str| {
            100.0 * (value(engine, name) / value(floor, name) - 1.0).abs()
        };
        let percentiles = ["p50", "p99", "p999"].map(|quantile| format!("{kind}_{quantile}_us"));
        let cost = self
            .of_pairs(drive, floor, |engine, floor| value(floor, "requests_per_s") / value(engine, "requests_per_s"));
        let iops = self.of_pairs(drive, floor, |engine, floor| apart(engine, floor, "iops"));
        let latency = self.of_pairs(drive, floor, |engine, floor| {
            // A figure that is missing is no agreement.
            percentiles
                .iter()
                .map(|name| apart(engine, floor, name))
                .fold(0.0, |most, next| if next > most || next.is_nan() { next } else { most })
        });
        let figure = |what: &str, value: Option<f64>, unit, most| {
            let name = format!("{} {what}", drive.name());
            value.map(|value| Measured { name, value, unit, target: Goal::AtMost(most) })
        };
        let figures = [
            figure("÷ its floor", cost, "of the CPU time of a request", 3.5),
            figure("and its floor, IOPS", iops, "% apart", 2.0),
            figure("and its floor, p50, p99 and p99.9", latency, "% apart at most", 8.0),
        ];
        figures.into_iter().flatten().collect()
    }

    /// `count` beside the limit loop.
    fn of_limit(&self) -> Vec<Measured> {
        let counts = self.cases.iter().filter_map(|case| match case {
            Case::Run(run) if !run.timed => Some(self.speed(run)),
            _ => None,
        });
        counts
            .filter_map(|speed| {
                let name = format!("{} ÷ its limit", speed.rates.name);
                Some(Measured { name, value: speed.of_limit?, unit: "of the speed", target: Goal::AtLeast(0.5) })
            })
            .collect()
    }

    /// Preconditioning the full device, and what it holds.
    fn memory(&self) -> Vec<Measured> {
        let limit = (BYTES_PER_PAGE * FULL_PAGES + BYTES_BESIDES) / 1e6;
        let most = |name: &str, value| Measured { name: name.into(), value, unit: "MB", target: Goal::AtMost(limit) };
        let mut figures = Vec::new();
        if let Some(samples) = self.samples(Case::Precondition) {
            let wall = median(samples.iter().map(|sample| sample.wall_s).collect());
            let name = "precondition-240g, whole process on the wall".into();
            figures.push(Measured { name, value: wall, unit: "s", target: Goal::AtMost(20.0) });
            figures.push(most("peak RSS at 240g", peak(samples)));
        }
        if let Some(samples) = self.samples(Case::AgeDrive) {
            let value = median(samples.iter().map(|sample| sample.wall_s).collect());
            let name = format!("{}, whole process on the wall", Case::AgeDrive.name());
            figures.push(Measured { name, value, unit: "s", target: Goal::AtMost(60.0) });
        }
        let full = self.cases.iter().zip(self.samples).filter_map(|(case, samples)| match case {
            Case::Run(run) if run.size == Size::Full => Some(peak(samples)),
            _ => None,
        });
        if let Some(peak) = full.reduce(f64::max) {
            figures.push(most("peak RSS at 240g, from a state file", peak));
        }
        for size in [Size::Tera2, Size::Tera16] {
            let of_size = self.cases.iter().zip(self.samples).filter_map(|(case, samples)| match case {
                Case::Run(run) if run.size == size => Some(peak(samples)),
                _ => None,
            });
            if let Some(peak) = of_size.reduce(f64::max) {
                let value = (peak * 1e6 - BYTES_BESIDES) / f64::from(size.physical_pages());
                let (name, unit) = (format!("peak RSS at {}, per page", size.name()), "bytes");
                figures.push(Measured { name, value, unit, target: Goal::AtMost(HUGE_BYTES_PER_PAGE) });
            }
        }
        figures
    }

    fn context(&self) -> Vec<(String, f64)> {
        let mut context = Vec::new();
        for (&case, samples) in self.cases.iter().zip(self.samples) {
            if matches!(case, Case::Memory | Case::Events | Case::Limit(_) | Case::Floor(..) | Case::DriveFloor(_)) {
                let names = samples.first().map(|sample| sample.figures.values.as_slice()).unwrap_or_default();
                for (name, _) in names {
                    let value = self.get(case, name).unwrap_or(f64::NAN);
                    context.push((format!("{} {}", case.name(), name.replace('_', " ")), value));
                }
            }
        }
        context
    }
}

fn value(sample: &Execution, name: &str) -> f64 {
    sample.figures.get(name).unwrap_or(f64::NAN)
}

fn peak(samples: &[Execution]) -> f64 {
    samples.iter().filter_map(|sample| sample.figures.peak_rss_mb).fold(f64::NAN, f64::max)
}

/// The middle value; of two middle ones the lower, so that it is one that was measured.
fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len().saturating_sub(1) / 2).copied().unwrap_or(f64::NAN)
}

/// Processor and number of cores.
fn machine() -> String {
    let text = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = text.lines().find_map(|line| line.strip_prefix("model name")?.split_once(':'));
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    format!("{}, {cores} cores", model.map_or("unknown processor", |(_, name)| name.trim()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cases::{FtlSet, Mix};
    use crate::child::Measurement;

    fn sample(values: &[(&str, f64)]) -> Execution {
        let values = values.iter().map(|&(name, value)| (name.to_owned(), value)).collect();
        Execution { figures: Measurement { values, peak_rss_mb: Some(100.0) }, user_s: 1.0, wall_s: 2.0 }
    }

    fn run(depth: u32) -> Case {
        let choices = FtlSet::Static;
        Case::Run(EngineRun { timed: true, size: Size::Small, mix: Mix::Write, choices, depth })
    }

    fn report(rates: [f64; 3], deep: [f64; 3]) -> BenchReport {
        let samples = |rates: [f64; 3]| rates.map(|rate| sample(&[("ops_per_s", rate), ("waf", 2.0)])).to_vec();
        let limit = [4e7, 7e7, 9e7].map(|rate| sample(&[("write_clocks.ops_per_s", rate)])).to_vec();
        let cases = [Case::Limit(Size::Small), run(16), run(256)];
        BenchReport::new(&cases, &[limit, samples(rates), samples(deep)])
    }

    #[test]
    fn medians_ratios_and_targets() {
        let met = report([3e7, 2.1e7, 2e7], [3e7, 2.1e7, 2e7]);
        assert_eq!((met.speeds[0].figure.value, met.speeds[0].of_limit), (21.0, Some(0.3)));
        assert_eq!(met.others[0].value, 1.0);
        assert!(met.all_met());
        let slow = report([3e7, 1.9e7, 1e7], [3e7, 2.1e7, 2e7]);
        assert!(!slow.all_met());
        let slow_when_deep = report([3e7, 3e7, 3e7], [2.5e7, 2.5e7, 2.5e7]);
        assert!(!slow_when_deep.all_met());
        assert!(slow_when_deep.text().contains("MISSED"));
    }

    #[test]
    fn many_dies_are_set_beside_few_and_counts_beside_their_limit() {
        let few = EngineRun { timed: true, size: Size::Full, mix: Mix::Write, choices: FtlSet::Static, depth: 32 };
        let many = EngineRun { size: Size::Wide, ..few };
        let counted = EngineRun { timed: false, ..few };
        let rate = |rate| vec![sample(&[("ops_per_s", rate), ("write.ops_per_s", rate)])];
        let cases = [Case::Run(few), Case::Run(many), Case::Run(counted), Case::Limit(Size::Full)];
        let report = BenchReport::new(&cases, &[rate(2e7), rate(1.6e7), rate(6e7), rate(9e7)]);
        let values: Vec<f64> = report.others.iter().map(|figure| figure.value).collect();
        assert_eq!(values[..2], [1.25, 2.0 / 3.0]);
        assert!(report.others[..2].iter().all(|figure| figure.target.met(figure.value)));
    }

    #[test]
    fn mechanisms_have_a_table_of_their_own_and_no_target() {
        let twins = MechanismRun { mechanism: Mechanism::TwinBlocks, timed: true };
        let slow = [1e3, 2e3, 3e3].map(|rate| sample(&[("ops_per_s", rate), ("writes_per_s", 500.0)])).to_vec();
        let report = BenchReport::new(&[Case::Mechanism(twins)], &[slow]);
        assert!(report.all_met());
        assert_eq!((report.speeds.len(), report.mechanisms[0].ops), (0, 2e-3));
        let text = report.markdown();
        assert!(
            text.contains("| mechanism or feature | M flash ops") && text.contains("| timed-24g-write-twin-d |"),
            "{text}"
        );
        assert_eq!(report.json()["mechanisms"][0]["host_writes_per_cpu_s"], 5e-4);
    }

    #[test]
    fn a_drive_is_set_beside_its_floor_and_a_null_feature_beside_none() {
        let of_engine = |iops: f64, p99: f64| {
            let percentiles = [("write_p50_us", 100.0), ("write_p99_us", p99), ("write_p999_us", 900.0)];
            let figures = [("requests_per_s", 1e6), ("iops", iops), ("turns_per_request", 4.0)];
            vec![sample(&[figures.as_slice(), &percentiles].concat())]
        };
        let cases = [Case::Drive(DriveRun::of_floor(Mix::Write)), Case::DriveFloor(Mix::Write)];
        let compared = |iops, p99| {
            let mut floor = of_engine(1e5, 500.0);
            floor[0].figures.values[0].1 = 3e6;
            BenchReport::new(&cases, &[of_engine(iops, p99), floor])
        };
        let near = compared(1.01e5, 520.0);
        let values: Vec<f64> = near.others.iter().map(|figure| (figure.value * 10.0).round() / 10.0).collect();
        assert_eq!(values, [3.0, 1.0, 4.0]);
        assert!(near.all_met() && near.json()["drives"][0]["turns_per_request"] == 4.0);
        assert!(near.text().contains("turns a request"));
        assert!(
            !compared(1.03e5, 520.0).all_met() && !compared(1e5, 400.0).all_met() && !compared(1e5, f64::NAN).all_met()
        );
        let plain = EngineRun { timed: true, size: Size::Small, mix: Mix::Write, choices: FtlSet::Static, depth: 32 };
        let cases = [Case::Run(plain), Case::Feature(FeatureRun::Null(Mix::Write))];
        let rate = |rate| vec![sample(&[("ops_per_s", rate)])];
        let report = BenchReport::new(&cases, &[rate(3e7), rate(1e7)]);
        assert!(!report.all_met() && (report.others[0].value - 3.0).abs() < 1e-9);
    }

    #[test]
    fn every_name_is_found_again() {
        for case in crate::cases::all(false) {
            assert_eq!(Case::named(&case.name()), Some(case));
            let needed = case.needs();
            assert_eq!(needed.and_then(|needed| Case::named(&needed.name())), needed);
        }
        assert_eq!(Case::named("nothing"), None);
    }

    #[test]
    fn a_bound_reads_as_it_was_set() {
        assert_eq!(Goal::AtMost(20.0).text(), "≤ 20");
        assert_eq!(Goal::AtMost(466.653184).text(), "≤ 466.6532");
        assert_eq!(Goal::AtLeast(0.97).text(), "≥ 0.97");
        assert_eq!(Goal::AtLeast(0.8 * 12.0).text(), "≥ 9.6");
    }
}
