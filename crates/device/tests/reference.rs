//! The reference page of the configuration is what the declarations and the registries say.
//! `UPDATE=1 cargo test -p ftlab-device --test reference` writes it anew.

#[test]
fn the_reference_page_is_current() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/config.md");
    let page = config::reference_page(&device::registry());
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(path, &page).expect("docs/config.md is writable");
    }
    let committed = std::fs::read_to_string(path).expect("docs/config.md");
    assert!(committed == page, "docs/config.md is out of date: run with UPDATE=1 and look at the difference");
}
