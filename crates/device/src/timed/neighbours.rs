//! Hosts that share the device: for whose reads and programs a page waited that are not its own host's.
//!
//! Where latencies are split, the work of a die for pages of the host is kept by tenant as well. The time of a wait in which a
//! die worked for another tenant is what was added to theirs.

use base::{Die, Instant, Lpn};
use metrics::LatencyPart;

use super::queues::RequestId;

/// Whose a request or a page is; `None`: nobody's in particular.
pub(super) type Owner = Option<u16>;

/// How long a die read, and how long it programmed, for a tenant.
type HostTimes = [u64; 2];

/// The command of a die, as far as it is for the host.
#[derive(Clone, Copy, Default)]
struct DieCommand {
    owner: Owner,
    /// 0: it reads for the host; 1: it programs.
    what: Option<usize>,
    /// Its time is counted up to here.
    since: Instant,
}

/// The work of dies by tenant, and what pages waited for of it.
pub(super) struct Neighbours {
    tenants: usize,
    /// By tenant, the first of its logical pages. Empty: they share all addresses.
    first: Vec<Lpn>,
    dies: Vec<DieCommand>,
    /// By die and tenant.
    times: Vec<HostTimes>,
    /// By page, whose it is.
    owners: Vec<Owner>,
    /// By page and tenant, the times of the dies that it waits for when the wait began.
    before: Vec<HostTimes>,
    /// By page and tenant, what it waited for so far.
    waited: Vec<u64>,
    /// By request.
    requests: Vec<OfRequest>,
}

#[derive(Clone, Copy, Default)]
struct OfRequest {
    owner: Owner,
    /// The tenant that its page which was done last waited for most.
    most: Option<(u16, u64)>,
}

impl Neighbours {
    /// Bytes of a die, of a page and of a request in the device, for each tenant.
    pub(super) const BYTES: usize = size_of::<HostTimes>() + size_of::<u64>();

    /// No request yet of so many tenants, which share all addresses where none has a first page of its own.
    pub(super) fn new(dies: usize, first: &[Option<Lpn>]) -> Neighbours {
        let tenants = first.len();
        Neighbours {
            tenants,
            first: first.iter().copied().collect::<Option<_>>().unwrap_or_default(),
            dies: vec![DieCommand::default(); dies],
            times: vec![[0; 2]; dies * tenants],
            owners: Vec::new(),
            before: Vec::new(),
            waited: Vec::new(),
            requests: Vec::new(),
        }
    }

    /// A request of a tenant comes into the device.
    pub(super) fn request_comes(&mut self, request: RequestId, tenant: usize) {
        let at = request.0 as usize;
        if self.requests.len() <= at {
            self.requests.resize(at + 1, OfRequest::default());
        }
        self.requests[at] = OfRequest { owner: Some(tenant as u16), most: None };
    }

    /// A page comes into the device: of a request or, behind the write buffer, of whoever has its address.
    pub(super) fn page_comes(&mut self, page: usize, request: Option<RequestId>, lpn: Lpn) {
        if self.owners.len() <= page {
            self.owners.resize(page + 1, None);
            self.before.resize((page + 1) * self.tenants, [0; 2]);
            self.waited.resize((page + 1) * self.tenants, 0);
        }
        let of_address = || self.first.partition_point(|first| *first <= lpn).checked_sub(1).map(|at| at as u16);
        self.owners[page] = match request {
            Some(request) => self.requests[request.0 as usize].owner,
            None => of_address(),
        };
        self.forget(page);
    }

    /// A page waited for nothing so far.
    pub(super) fn forget(&mut self, page: usize) {
        self.waited[page * self.tenants..][..self.tenants].fill(0);
    }

    /// A page waited for what another one waited for.
    pub(super) fn passes_on(&mut self, from: usize, to: usize) {
        for tenant in 0..self.tenants {
            self.waited[to * self.tenants + tenant] += self.waited[from * self.tenants + tenant];
        }
    }

    /// From now on a die does something else.
    pub(super) fn die_does(&mut self, now: Instant, die: Die, what: LatencyPart) {
        self.count(now, die);
        self.dies[die.index()].what = place_of(what);
    }

    /// A die takes a page into its command. A command with pages of several is of the one whose page it took last.
    pub(super) fn command_begins(&mut self, now: Instant, die: Die, page: usize) {
        self.count(now, die);
        self.dies[die.index()].owner = self.owners[page];
    }

    fn count(&mut self, now: Instant, die: Die) {
        let command = &mut self.dies[die.index()];
        if let (Some(owner), Some(what)) = (command.owner, command.what) {
            self.times[die.index() * self.tenants + usize::from(owner)][what] += (now - command.since).ns();
        }
        command.since = now;
    }

    /// A page begins to wait for those dies.
    pub(super) fn wait_begins(&mut self, now: Instant, page: usize, dies: impl Iterator<Item = Die> + Clone) {
        for tenant in 0..self.tenants {
            self.before[page * self.tenants + tenant] = self.times(now, tenant, dies.clone());
        }
    }

    /// A page has waited for those dies, so many; it may wait on for them. Returns how long they read, and how long they
    /// programmed, for others meanwhile.
    pub(super) fn wait_ends(
        &mut self,
        now: Instant,
        page: usize,
        (dies, number): (impl Iterator<Item = Die> + Clone, u64),
        counts: [bool; 2],
    ) -> HostTimes {
        let mut of_others = [0; 2];
        for tenant in 0..self.tenants {
            let at = page * self.tenants + tenant;
            let until = self.times(now, tenant, dies.clone());
            let before = std::mem::replace(&mut self.before[at], until);
            if self.owners[page] == Some(tenant as u16) {
                continue;
            }
            for what in (0..2).filter(|&what| counts[what]) {
                let ns = (until[what] - before[what]) / number;
                of_others[what] += ns;
                self.waited[at] += ns;
            }
        }
        if self.owners[page].is_some() { of_others } else { [0; 2] }
    }

    fn times(&self, now: Instant, tenant: usize, dies: impl Iterator<Item = Die>) -> HostTimes {
        let mut times = [0; 2];
        for die in dies {
            let of_die = self.times[die.index() * self.tenants + tenant];
            (times[0], times[1]) = (times[0] + of_die[0], times[1] + of_die[1]);
            let command = &self.dies[die.index()];
            if let (Some(owner), Some(what)) = (command.owner, command.what)
                && usize::from(owner) == tenant
            {
                times[what] += (now - command.since).ns();
            }
        }
        times
    }

    /// A page of a request is done.
    pub(super) fn page_is_done(&mut self, page: usize, request: RequestId) {
        let waited = &self.waited[page * self.tenants..][..self.tenants];
        let most = waited.iter().enumerate().filter(|(_, ns)| **ns > 0).max_by_key(|(at, ns)| (**ns, usize::MAX - at));
        self.requests[request.0 as usize].most = most.map(|(at, ns)| (at as u16, *ns));
    }

    /// Whose a request is, and the other tenant that it waited for most.
    pub(super) fn of_request(&self, request: RequestId) -> (Owner, Option<(u16, u64)>) {
        let OfRequest { owner, most } = self.requests[request.0 as usize];
        (owner, most)
    }
}

/// The place of work for pages of the host in its times.
pub(super) fn place_of(what: LatencyPart) -> Option<usize> {
    [LatencyPart::HostRead, LatencyPart::HostProgram].iter().position(|&of_host| of_host == what)
}
