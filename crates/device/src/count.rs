//! The executor without time: a command ends when it is issued.
//!
//! It is as fast as memory allows. Requests are drawn in batches, and while one is served the map entries
//! of those behind it are already on their way from memory.

use base::{Instant, Request, RequestKind};
use workload::Workload;

use crate::device::Device;
use crate::pages::Span;
use crate::{RunError, Watch};

/// Requests drawn at once; enough to cover a memory access, few enough to stay in the cache.
const BATCH: usize = 64;

/// Runs a workload to its end.
pub(crate) fn run(device: &mut Device, workload: &mut Workload, watch: &mut Watch<'_>) -> Result<(), RunError> {
    let mut batch: Vec<Request> = Vec::with_capacity(BATCH);
    let mut now = Instant::ZERO;
    loop {
        batch.clear();
        workload.fill(&mut batch, BATCH)?;
        if batch.is_empty() {
            device.recorder.finish(now);
            return Ok(());
        }
        prefetch(device, &batch);
        for request in &batch {
            now = now.max(request.at);
            serve(device, request);
            device.recorder.completed(request.kind, now, now, request.size);
        }
        watch.report(now, &device.recorder.counters, || workload.progress())?;
    }
}

/// Asks for the map entries of a batch, then for what its writes will make invalid.
#[inline]
fn prefetch(device: &Device, batch: &[Request]) {
    for request in batch {
        if request.size > 0 {
            device.ftl.prefetch_map(base::Lpn((request.offset / device.page_size) as u32));
        }
    }
    for request in batch {
        if request.kind == RequestKind::Write {
            device.ftl.prefetch_old(base::Lpn((request.offset / device.page_size) as u32));
        }
    }
}

#[inline]
fn serve(device: &mut Device, request: &Request) {
    let span = Span::of(request, device.page_size);
    match request.kind {
        RequestKind::Write => {
            for (lpn, partial) in span.pages() {
                device.write_now(lpn, partial);
            }
        }
        RequestKind::Read => {
            for (lpn, _) in span.pages() {
                device.read_now(lpn);
            }
        }
        RequestKind::Trim => {
            for (lpn, _) in span.whole().pages() {
                device.trim(lpn);
            }
        }
        RequestKind::Flush => {}
    }
}
