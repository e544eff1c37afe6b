//! An array over an image, and what it writes there.

use base::{Block, Page};

use super::{Aside, Image, Worn};
use crate::store::Store;
use crate::{Nand, Place, SavedArray};

impl Nand {
    /// Takes over an image: from now on the array is in the state that it has, and changes it. What is kept of single pages
    /// ([`Nand::keep_errors`], [`Nand::keep_reads`]) has to be said before.
    ///
    /// # Errors
    /// The text says which record cannot be in the image of an array of this shape.
    pub fn attach(&mut self, mut image: Image) -> Result<(), String> {
        let mut saved = image.load()?;
        // The process was killed while it erased blocks together.
        let (first, count) = image.erasing().ok_or("the record of an erase is not one that was written")?;
        for block in (0..count).map(|lane| Block::new(first + lane * self.shape.blocks_per_plane)) {
            saved.blocks[block.index()].tear();
        }
        self.blocks.clone_from(&saved.blocks);
        let (mut errors, mut reads_before) = (Vec::new(), Vec::new());
        for block in self.all_blocks() {
            let has_errors = self.load_block(&mut image, block, &mut saved, (&mut errors, &mut reads_before))?;
            let lost = saved.lost.last().is_some_and(|place: &Place| place.0 == block);
            let reprogrammed = saved.reprogrammed.last().is_some_and(|place: &Place| place.0 == block);
            let state = &mut saved.blocks[block.index()];
            state.set_marks_of_pages(lost, reprogrammed, has_errors);
            if state.next_page == 0 {
                // The process may have been killed before the rest of an erase was written.
                state.reads = 0;
                self.end_cycle_found(&mut saved.cycles[block.index()], state.erases);
            }
        }
        (saved.errors, saved.reads_before) = (errors, reads_before);
        if self.disturb.is_none() {
            saved.cycles.clear();
        }
        self.store = Store::Nothing;
        self.restore(saved)?;
        self.store = Store::Bytes(Box::new(image));
        self.cycle_power();
        self.image_mut().expect("it was attached").note_erase_of(0, 0);
        Ok(())
    }

    /// Takes over an image whose array was in this state when it was left: pages are not looked at.
    ///
    /// # Errors
    /// Returns the image if it is not, or if the state is of another array.
    pub fn attach_saved(&mut self, image: Image, saved: SavedArray) -> Result<(), Box<Image>> {
        let known = |all: &SavedArray| -> Vec<_> {
            all.blocks.iter().map(|block| (block.erases, block.reads, block.next_page)).collect()
        };
        let agrees = image.load().is_ok_and(|found| known(&found) == known(&saved))
            && image.erasing().is_some_and(|(_, count)| count == 0);
        self.store = Store::Nothing;
        if !agrees || self.restore(saved).is_err() {
            return Err(Box::new(image));
        }
        self.store = Store::Bytes(Box::new(image));
        self.cycle_power();
        Ok(())
    }

    /// Loads the pages of a block. Returns whether one has errors.
    fn load_block(
        &self,
        image: &mut Image,
        block: Block,
        saved: &mut crate::SavedArray,
        (errors, reads_before): (&mut Vec<u32>, &mut Vec<u32>),
    ) -> Result<bool, String> {
        let mut has_errors = false;
        let (keeps_errors, keeps_reads) = (self.errors.is_some(), self.disturb.is_some());
        let mut keep = |of_page: (u32, u32)| {
            errors.extend(keeps_errors.then_some(of_page.0));
            reads_before.extend(keeps_reads.then_some(of_page.1));
        };
        if !self.is_programmed(block, Page::FIRST) && !image.may_have_records(block.index()) {
            self.pages_of_block().for_each(|_| keep((0, 0)));
            return Ok(false);
        }
        for page in self.pages_of_block() {
            let index = self.index(block, page);
            if !self.is_programmed(block, page) {
                // A killed process may have left a page that was about to be programmed.
                image.forget_page(index);
                keep((0, 0));
                continue;
            }
            let found = image.load_page(index)?;
            if !found.is_stored {
                saved.lost.push((block, page));
            }
            if found.is_reprogrammed {
                saved.reprogrammed.push((block, page));
            }
            has_errors |= found.errors > 0;
            keep((found.errors, found.reads_before));
        }
        Ok(has_errors && self.errors.is_some())
    }

    /// True if no block was ever programmed or erased.
    pub fn is_pristine(&self) -> bool {
        self.blocks.iter().all(|block| block.erases == 0 && block.next_page == 0 && block.has_no_past())
    }

    /// Gives the image back, which is all that is left of the array.
    pub fn detach(&mut self) -> Option<Image> {
        match std::mem::replace(&mut self.store, Store::Nothing) {
            Store::Bytes(image) => Some(*image),
            _ => None,
        }
    }

    /// Puts it back, unchanged but for its checkpoint.
    pub fn put_back(&mut self, image: Image) {
        self.store = Store::Bytes(Box::new(image));
    }

    /// The image, if pages store bytes.
    pub fn image(&self) -> Option<&Image> {
        if let Store::Bytes(image) = &self.store { Some(image) } else { None }
    }

    /// The image, to be changed.
    pub fn image_mut(&mut self) -> Option<&mut Image> {
        if let Store::Bytes(image) = &mut self.store { Some(image) } else { None }
    }

    /// From now on pages that are lost are written down in the image, or not.
    pub fn keep_losses(&mut self, keeps: bool) {
        if let Some(image) = self.image_mut() {
            image.keep_losses(keeps);
        }
    }

    /// The word for data that cannot be read.
    pub fn unreadable(&self) -> u64 {
        super::UNREADABLE
    }

    /// An operation on a block has come to its end.
    #[inline(always)]
    pub(crate) fn commit(&mut self, block: Block) {
        if let Store::Bytes(_) = self.store {
            self.commit_to_image(block);
        }
    }

    #[cold]
    fn commit_to_image(&mut self, block: Block) {
        let cycles = self.cycles().get(block.index()).copied().unwrap_or_default();
        let (reprogrammed, is_reprogrammed, extra) = (cycles.reprogrammed, cycles.is_reprogrammed, cycles.extra);
        if let Store::Bytes(image) = &mut self.store {
            let worn = Worn { reprogrammed, is_reprogrammed, extra };
            image.commit(block.index(), &self.blocks[block.index()], worn);
        }
    }

    /// The numbers that go with the content of a page.
    fn aside(&self, block: Block, page: Page) -> Aside {
        Aside { errors: self.errors_of(block, page), reads_before: self.reads_when_programmed(block, page) }
    }

    /// A block was erased.
    #[inline(always)]
    pub(crate) fn forget_contents(&mut self, block: Block) {
        if let Store::Bytes(_) = self.store {
            self.commit_to_image(block);
            self.image_mut().expect("pages store bytes").forget(block.index());
        }
    }

    /// Stores the content of a page in the image.
    #[cold]
    pub(crate) fn store_bytes(&mut self, block: Block, page: Page, data: u64, spare: u128) {
        let (index, aside) = (self.index(block, page), self.aside(block, page));
        self.image_mut().expect("pages store bytes").write(index, data, spare, aside);
        self.commit_to_image(block);
    }

    /// The numbers that go with the content of a page have changed.
    pub(crate) fn commit_aside(&mut self, block: Block, page: Page) {
        let (index, aside) = (self.index(block, page), self.aside(block, page));
        if let Some(image) = self.image_mut() {
            image.set_aside(index, aside);
        }
    }

    /// The numbers that go with the content of all pages of a block have changed, and so has the block's state.
    pub(crate) fn commit_asides(&mut self, block: Block) {
        self.commit(block);
        self.pages_of_block().for_each(|page| self.commit_aside(block, page));
    }

    /// Takes data into the controller's memory. Returns what stands for them.
    ///
    /// # Panics
    /// If pages do not store bytes.
    pub fn take(&mut self, bytes: &[u8]) -> u64 {
        self.image_mut().expect("pages store bytes").take(bytes)
    }

    /// Fills `bytes` with the data that something stands for. Returns whether they are the ones that were written; if not, they cannot
    /// be read.
    ///
    /// # Panics
    /// If pages do not store bytes.
    pub fn copy_out(&self, data: u64, bytes: &mut [u8]) -> bool {
        self.image().expect("pages store bytes").copy_out(data, bytes)
    }

    /// Blocks, so many of them at one offset of neighbouring planes, are to be erased together. With none they are.
    pub fn note_erase_of(&mut self, first: Block, count: u32) {
        if count != 1
            && let Some(image) = self.image_mut()
        {
            image.note_erase_of(first.number(), count);
        }
    }

    /// The word for the same data, wherever they are erased.
    pub fn hold(&mut self, data: u64) -> u64 {
        self.image_mut().map_or(data, |image| image.hold(data))
    }

    /// The word for a copy of data that the controller has already.
    pub fn hold_again(&mut self, data: u64) -> u64 {
        self.image_mut().map_or(data, |image| image.hold_again(data))
    }

    /// The controller lets go of data.
    pub fn let_go(&mut self, data: u64) {
        if let Some(image) = self.image_mut() {
            image.let_go(data);
        }
    }

    /// The controller lets go of all data.
    pub fn rest(&mut self) {
        if let Some(image) = self.image_mut() {
            image.rest();
        }
    }

    /// The word for the exclusive-or of two pages. The controller lets go of both.
    pub fn xor(&mut self, first: u64, second: u64) -> u64 {
        self.image_mut().map_or(first ^ second, |image| image.xor(first, second))
    }
}
