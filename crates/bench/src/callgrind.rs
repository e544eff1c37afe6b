//! Requests of this program to callgrind, if it runs under that: a part of a run alone is counted.
//!
//! A program asks valgrind by an order of instructions that changes nothing elsewhere (valgrind's manual, 3.1 "The Client Request
//! mechanism").

use crate::Failure;

/// `CALLGRIND_START_INSTRUMENTATION` and `CALLGRIND_STOP_INSTRUMENTATION`.
const START: u64 = 0x4354_0004;
const STOP: u64 = 0x4354_0005;

/// Instructions are counted from now on.
pub(crate) fn start() -> Result<(), Failure> {
    request(START)
}

/// Instructions are counted no more.
pub(crate) fn stop() -> Result<(), Failure> {
    request(STOP)
}

#[cfg(target_arch = "x86_64")]
fn request(number: u64) -> Result<(), Failure> {
    let words = [number, 0, 0, 0, 0, 0];
    // SAFETY: four rotations by 128 bits together leave `rdi` as it was, and `rbx` is exchanged with itself. Valgrind reads the words,
    // which live until then, and writes `rdx`.
    unsafe {
        std::arch::asm!(
            "rol rdi, 3", "rol rdi, 13", "rol rdi, 61", "rol rdi, 51", "xchg rbx, rbx",
            inout("rdx") 0u64 => _, in("rax") &raw const words,
        );
    }
    Ok(())
}

#[cfg(not(target_arch = "x86_64"))]
fn request(_: u64) -> Result<(), Failure> {
    Err(Failure("the instructions of a part of a run are counted on x86-64 alone".into()))
}
