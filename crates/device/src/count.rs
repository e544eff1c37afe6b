//! The executor without time: a command ends when it is issued.
//!
//! It is as fast as memory allows. Requests are drawn in batches, and while one is served the map entries
//! of those behind it are already on their way from memory.

use base::{Instant, Lpn, Request, RequestKind};
use config::Config;
use ftl::HostWrite;
use workload::Workload;

use crate::buffer::{self, Buffer};
use crate::device::Device;
use crate::errors::RunError;
use crate::lives;
use crate::pages::{PIECE, PageSize, Span};
use crate::uncorrectable;
use crate::watch::{Watch, work_of};

/// Requests drawn at once; enough to cover a memory access, few enough to stay in the cache.
const BATCH: usize = 64;

/// Runs a workload to its end.
pub(crate) fn run(
    device: &mut Device,
    workload: &mut Workload,
    config: &Config,
    watch: &mut Watch<'_>,
) -> Result<(), RunError> {
    let mut buffer = buffer::build(config, device).map(Box::new);
    let mut batch: Vec<Request> = Vec::with_capacity(BATCH);
    let mut spans: Vec<Span> = Vec::with_capacity(BATCH);
    let is_plain = buffer.is_none() && device.is_plain_without_time();
    // No request is begun on a device that has come to its end.
    let ends = lives::are_limited(config);
    let batch_size = if ends { 1 } else { BATCH };
    let mut now = Instant::ZERO;
    loop {
        batch.clear();
        if !device.is_read_only() {
            workload.fill(&mut batch, batch_size)?;
        }
        if batch.is_empty() {
            if let Some(buffer) = &mut buffer {
                device.recorder.buffer_finish(buffer.age());
                while let Some(page) = buffer.oldest() {
                    evict(device, buffer, page);
                }
            }
            device.fill_up();
            device.recorder.finish(now);
            return Ok(());
        }
        if is_plain && let Some(pages) = WholePages::of(&batch, device.page_size) {
            pages.prefetch(device);
            for (request, &lpn) in batch.iter().zip(&pages.lpns) {
                now = now.max(request.at);
                match request.kind {
                    RequestKind::Write => {
                        device.write_page_now(lpn);
                        device.recorder.completed(RequestKind::Write, now, now, request.size);
                    }
                    _ => {
                        device.read_page_now(lpn);
                        device.recorder.completed(RequestKind::Read, now, now, request.size);
                    }
                }
            }
            let work = batch.len() as u64 * work_of(&batch[0]);
            watch.report(work, now, &device.recorder.counters, || workload.progress())?;
            continue;
        }
        spans.clear();
        spans.extend(batch.iter().map(|request| Span::of(request, device.page_size)));
        prefetch(device, buffer.as_deref(), &batch, &spans);
        for (request, &span) in batch.iter().zip(&spans) {
            now = now.max(request.at);
            device.tell_time(now, None);
            let mut look = |device: &Device| {
                watch.report(u64::from(PIECE), now, &device.recorder.counters, || workload.progress()).map(drop)
            };
            serve_either(device, buffer.as_deref_mut(), request, span, &mut look)?;
            if ends && device.has_refused {
                // It was not carried out in whole.
                break;
            }
            device.recorder.completed(request.kind, now, now, request.size);
            watch.report(work_of(request), now, &device.recorder.counters, || workload.progress())?;
        }
        uncorrectable::check_reads(device)?;
    }
}

/// A batch of reads and writes of one whole page each.
struct WholePages {
    /// By request: its page.
    lpns: [Lpn; BATCH],
    /// Pages that are read, and pages that are written, and how many they are.
    of_kind: [[Lpn; BATCH]; 2],
    counts: [usize; 2],
}

impl WholePages {
    /// The pages of a batch. `None` if it holds other requests.
    ///
    /// Of which kind a request is is as good as random: the kinds are told apart without a branch.
    #[inline]
    fn of(batch: &[Request], page_size: PageSize) -> Option<WholePages> {
        let mut pages = WholePages { lpns: [Lpn(0); BATCH], of_kind: [[Lpn(0); BATCH]; 2], counts: [0; 2] };
        let mut are_whole = true;
        for (request, lpn) in batch.iter().zip(&mut pages.lpns) {
            are_whole &= page_size.is_whole_page(request.offset, request.size);
            are_whole &= matches!(request.kind, RequestKind::Read | RequestKind::Write);
            *lpn = page_size.page_of(request.offset);
            let kind = usize::from(request.kind == RequestKind::Write);
            pages.of_kind[kind][pages.counts[kind] % BATCH] = *lpn;
            pages.counts[kind] += 1;
        }
        are_whole.then_some(pages)
    }

    /// Asks for their map entries, then for what the writes will make invalid and for the blocks that are read.
    #[inline]
    fn prefetch(&self, device: &Device) {
        let [reads, writes] = [0, 1].map(|kind| &self.of_kind[kind][..self.counts[kind]]);
        reads.iter().chain(writes).for_each(|&lpn| device.ftl.prefetch(lpn));
        writes.iter().for_each(|&lpn| device.ftl.prefetch_old(lpn));
        for &lpn in reads {
            if let Ok(ppn) = device.ftl.lookup(lpn) {
                device.flash.prefetch(ppn);
            }
        }
    }
}

/// Asked after each piece of a long request: returns if the run goes on.
type Look<'a> = dyn FnMut(&Device) -> Result<(), RunError> + 'a;

/// Serves a request to its end, through the write buffer if there is one.
pub(crate) fn carry_out(device: &mut Device, buffer: Option<&mut Buffer>, request: &Request) {
    let served = serve_either(device, buffer, request, Span::of(request, device.page_size), &mut |_| Ok(()));
    served.expect("nobody stops it");
}

#[inline(always)]
fn serve_either(
    device: &mut Device,
    buffer: Option<&mut Buffer>,
    request: &Request,
    span: Span,
    look: &mut Look<'_>,
) -> Result<(), RunError> {
    match buffer {
        None if span.len() > PIECE => serve_long(device, request, span, look),
        None => {
            serve(device, request, span);
            Ok(())
        }
        Some(buffer) => serve_buffered(device, buffer, request, span, look),
    }
}

/// Serves a request of many pages, which may take minutes.
#[cold]
fn serve_long(device: &mut Device, request: &Request, span: Span, look: &mut Look<'_>) -> Result<(), RunError> {
    if request.kind == RequestKind::Trim {
        for piece in span.whole().pieces() {
            device.trim_pages(piece);
            look(device)?;
        }
        device.collect_after_trim();
        return Ok(());
    }
    for piece in span.pieces() {
        serve(device, request, piece);
        look(device)?;
    }
    Ok(())
}

/// Asks for the map entries of a batch, then for what its writes will make invalid and for the blocks that it reads. What a buffer with
/// room for a batch writes are its oldest pages.
#[inline]
fn prefetch(device: &Device, buffer: Option<&Buffer>, batch: &[Request], spans: &[Span]) {
    let with_pages = || batch.iter().zip(spans).filter(|(_, span)| span.len() > 0);
    let holds_back = buffer.is_some_and(|buffer| buffer.coming().nth(BATCH - 1).is_some());
    for (request, span) in with_pages() {
        if !holds_back || request.kind == RequestKind::Read {
            device.ftl.prefetch(Lpn(span.first));
        }
    }
    if let Some(buffer) = buffer {
        with_pages().for_each(|(_, span)| buffer.prefetch(Lpn(span.first)));
    }
    if let Some(buffer) = buffer.filter(|_| holds_back) {
        let coming = || buffer.coming().take(BATCH);
        coming().for_each(|lpn| device.ftl.prefetch(lpn));
        coming().for_each(|lpn| buffer.prefetch(lpn));
        coming().for_each(|lpn| device.ftl.prefetch_old(lpn));
    }
    for (request, span) in with_pages() {
        match request.kind {
            RequestKind::Write if holds_back => {}
            RequestKind::Write => device.ftl.prefetch_old(Lpn(span.first)),
            RequestKind::Read => {
                if let Ok(ppn) = device.ftl.lookup(Lpn(span.first)) {
                    device.flash.prefetch(ppn);
                    if device.has.reads.is_some() {
                        device.ftl.prefetch_old(Lpn(span.first));
                    }
                }
            }
            RequestKind::Trim | RequestKind::Flush => {}
        }
    }
}

#[inline]
fn serve(device: &mut Device, request: &Request, span: Span) {
    match request.kind {
        RequestKind::Write => {
            for (lpn, partial) in span.pages() {
                device.write_now(
                    HostWrite { lpn, hint: request.hint },
                    device.parts.share(lpn, partial, request.offset, request.size),
                );
            }
        }
        RequestKind::Read => device.read_span_now(span, request),
        RequestKind::Trim => {
            device.trim_now(span.whole());
        }
        RequestKind::Flush => {}
    }
}

/// Serves a request through the write buffer, as `timed` does where only one page is programmed at a time and
/// only one request is in the device: a page leaves as soon as the buffer is full.
#[inline(never)]
fn serve_buffered(
    device: &mut Device,
    buffer: &mut Buffer,
    request: &Request,
    span: Span,
    look: &mut Look<'_>,
) -> Result<(), RunError> {
    match request.kind {
        RequestKind::Write => {
            let in_pieces = span.len() > buffer.capacity();
            while !in_pieces && buffer.room() < buffer.need(span) {
                evict_oldest(device, buffer);
            }
            for (lpn, partial) in span.pages() {
                if span.begins_piece(lpn) {
                    look(device)?;
                }
                let written = buffer.pieces.written(lpn, partial, request.offset, request.size, request.hint);
                let page = buffer::accept(device, buffer, lpn, written, buffer.age());
                if request.fua && !buffer.is_protected {
                    buffer.hurry(page);
                }
                // What is larger than the buffer enters page by page.
                if in_pieces && buffer.room() == 0 {
                    evict_oldest(device, buffer);
                }
            }
            if buffer.room() == 0 {
                evict_oldest(device, buffer);
            }
            evict_due(device, buffer);
            if request.fua && !buffer.is_protected {
                device.fill_up();
            }
        }
        RequestKind::Read => {
            for (lpn, _) in span.pages() {
                if span.begins_piece(lpn) {
                    look(device)?;
                }
                if let Some((floor, parts)) = buffer::read(device, buffer, lpn, (request.offset, request.size)) {
                    device.read_array_now(lpn, floor, parts);
                }
            }
        }
        RequestKind::Trim => {
            for (lpn, _) in span.whole().pages() {
                if span.begins_piece(lpn) {
                    look(device)?;
                }
                if let Some(page) = buffer.find(lpn) {
                    buffer::drop_page(device, buffer, page, buffer.age());
                }
            }
            for piece in span.whole().pieces() {
                device.trim_pages(piece);
                if span.len() > PIECE {
                    look(device)?;
                }
            }
            device.collect_after_trim();
        }
        RequestKind::Flush if buffer.is_protected => {}
        RequestKind::Flush => {
            device.promise_durable(0);
            buffer.flush();
            evict_due(device, buffer);
            device.fill_up();
            // The host is not told of a flush during which the device comes to its end.
            if !device.has_refused {
                device.check_durable(0);
            }
        }
    }
    Ok(())
}

fn evict_due(device: &mut Device, buffer: &mut Buffer) {
    while let Some(page) = buffer.oldest_due() {
        evict(device, buffer, page);
    }
}

fn evict_oldest(device: &mut Device, buffer: &mut Buffer) {
    let page = buffer.oldest().expect("a full buffer holds pages");
    evict(device, buffer, page);
}

fn evict(device: &mut Device, buffer: &mut Buffer, page: u32) {
    let page = buffer::leave(device, buffer, page, buffer.age());
    device.program_now(HostWrite { lpn: page.lpn, hint: page.hint }, page.version, buffer.share(&page));
}
