//! Replies of a connection that wait until they are due, and the thread that sends them.
//!
//! A reply goes out when two things have come together: its bytes, from the thread that carries requests out, and the word of the model
//! that the request is complete. So replies come in the order of the model.

use std::collections::HashMap;
use std::io::{self, Write};
use std::sync::mpsc::{Receiver, Sender};
use std::time::Instant;

use crate::pace::{PacedRequest, Pacer};

/// Replies that gather before they are sent in any case.
const OUTPUT: usize = 256 << 10;

/// News of the replies of a connection.
pub(crate) enum ReplyNews {
    /// The model has completed the request of that number, whose answer was due then.
    Due(u64, Option<Instant>),
    /// The bytes of its reply.
    Ready(u64, Vec<u8>),
    /// A reply that waits for nothing.
    Now(Vec<u8>),
}

/// One of the two things that a reply waits for.
enum HalfReply {
    /// Its bytes.
    Ready(Vec<u8>),
    /// It is due since then, if the model lives.
    Due(Option<Instant>),
}

/// The side of the thread that carries requests out.
pub(crate) struct PacedReplies<'a> {
    pace: &'a Pacer,
    news: Sender<ReplyNews>,
    numbers: u64,
}

impl<'a> PacedReplies<'a> {
    pub(crate) fn new(pace: &'a Pacer, news: Sender<ReplyNews>) -> Self {
        Self { pace, news, numbers: 0 }
    }

    /// A request came then. Returns its number.
    pub(crate) fn begin(&mut self, request: PacedRequest, arrived: Instant) -> u64 {
        self.numbers += 1;
        let (number, news) = (self.numbers, self.news.clone());
        // A connection that is gone waits for nothing.
        self.pace.begin(request, arrived, Box::new(move |due| drop(news.send(ReplyNews::Due(number, due)))));
        number
    }

    /// Sends a reply when its request is due; one without a number at once.
    pub(crate) fn send(&self, number: Option<u64>, bytes: Vec<u8>) {
        let news = match number {
            Some(number) => ReplyNews::Ready(number, bytes),
            None => ReplyNews::Now(bytes),
        };
        // The thread that sends is gone only where the client is.
        let _ = self.news.send(news);
    }
}

/// Sends replies as they become due, until no more can come.
///
/// # Errors
/// The stream cannot be written.
pub(crate) fn send_when_due(stream: &mut impl Write, news: &Receiver<ReplyNews>, pace: &Pacer) -> io::Result<()> {
    let mut halves: HashMap<u64, HalfReply> = HashMap::new();
    let (mut output, mut due_of) = (Vec::new(), Vec::new());
    while let Ok(first) = news.recv() {
        let mut next = Some(first);
        while let Some(one) = next {
            match one {
                ReplyNews::Now(bytes) => output.extend(bytes),
                ReplyNews::Due(number, due) => match halves.remove(&number) {
                    Some(HalfReply::Ready(bytes)) => {
                        output.extend(bytes);
                        due_of.extend(due);
                    }
                    _ => drop(halves.insert(number, HalfReply::Due(due))),
                },
                ReplyNews::Ready(number, bytes) => match halves.remove(&number) {
                    Some(HalfReply::Due(due)) => {
                        output.extend(bytes);
                        due_of.extend(due);
                    }
                    _ => drop(halves.insert(number, HalfReply::Ready(bytes))),
                },
            }
            next = if output.len() < OUTPUT { news.try_recv().ok() } else { None };
        }
        stream.write_all(&output)?;
        due_of.drain(..).for_each(|due| pace.answered(due));
        output.clear();
        output.shrink_to(2 * OUTPUT);
    }
    Ok(())
}
