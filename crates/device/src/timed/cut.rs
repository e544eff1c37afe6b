//! A power cut: the device stops in the middle of what all its dies do.

use base::OpKind;

use super::Timed;
use super::plan::{Chip, Plan};

impl<P: Plan> Timed<'_, '_, P> {
    /// True once the power has gone off.
    #[inline]
    pub(super) fn is_cut(&self) -> bool {
        self.cut.is_some_and(|at| self.context.now > at)
    }

    /// The power is off: what each array works on is torn, what is suspended too, and what the controller holds is gone.
    #[cold]
    pub(super) fn cut_power(&mut self) {
        let context = &mut self.context;
        let geometry = *context.device.flash.geometry();
        for die in geometry.all_dies() {
            for command in self.backend.in_array(context, die) {
                let tears_nothing = P::Chip::tears_nothing(context, &command);
                let flash = &mut context.device.flash;
                let ppns = command.items().iter().map(|item| item.ppn);
                match command.kind() {
                    OpKind::Read => {}
                    OpKind::Program if tears_nothing => {}
                    OpKind::Program => flash.tear_program(ppns),
                    OpKind::Erase => {
                        ppns.step_by(geometry.unit_width as usize)
                            .for_each(|ppn| flash.tear_erase(geometry.unit_of(ppn)));
                    }
                }
            }
        }
        context.device.flash.lose_frames();
    }
}
