//! Serves memory until a line or the end comes on standard input: `cargo run --release -p ftlab-serve --example memory -- SOCKET MIB`.
//! It measures the server without a device, beside `nbdkit memory`.

use std::sync::Arc;

use serve::memory::Memory;
use serve::{Address, Limits, Listener, Server};

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [socket, mebibytes] = &arguments[..] else { panic!("expected SOCKET and MIB, found {arguments:?}") };
    let size = mebibytes.parse::<u64>().expect("a size in MiB") << 20;
    let listener = Listener::bind(&Address::Unix(socket.into())).unwrap_or_else(|error| panic!("{error}"));
    let server = Server::start(Arc::new(Memory::new(size)), listener, Limits::default());
    println!("{}", server.uri());
    let _ = std::io::stdin().read_line(&mut String::new());
    println!("{:?}", server.counts());
    server.stop().expect("memory closes");
}
