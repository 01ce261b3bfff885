//! Finding a function by the name that a tool printed for it.

use crate::readable::{Forms, is_mangled, is_readable};
use crate::trace::{NameId, Trace};
use std::cell::{OnceCell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;
use trimtab_program::{FunctionId, Program};

/// The functions that a name can mean.
#[derive(Debug, Clone, Default)]
pub(crate) struct NameMatches {
    /// All of them, by ascending address.
    pub(crate) ids: Vec<FunctionId>,
    /// Whether the name fits only without the compiler's suffix.
    pub(crate) without_suffix: bool,
}

/// The functions of a program by the names in a trace.
pub(crate) struct Names<'a, 'data> {
    trace: &'a Trace,
    program: &'a Program<'data>,
    /// Whether the trace has names as compilers make them: then a short one is no demangled one.
    mangled: bool,
    readable: OnceCell<Readable>,
    found: RefCell<HashMap<NameId, Rc<NameMatches>>>,
}

/// Demangled forms of all symbols that have some.
#[derive(Default)]
struct Readable {
    full: HashMap<String, Vec<FunctionId>>,
    plain: HashMap<String, Vec<FunctionId>>,
    bare: HashMap<String, Vec<FunctionId>>,
}

impl<'a, 'data> Names<'a, 'data> {
    pub(crate) fn new(trace: &'a Trace, program: &'a Program<'data>) -> Self {
        Names {
            trace,
            program,
            // A demangler that is too old leaves some names as they are: then others are demangled.
            mangled: trace.symbols().any(is_mangled) && !trace.symbols().any(is_readable),
            readable: OnceCell::new(),
            found: RefCell::default(),
        }
    }

    /// The functions that this name of the trace can mean: those with the symbol, and those whose symbol
    /// reads so when it is demangled; else the only one of that name but for the compiler's suffix.
    pub(crate) fn find(&self, name: NameId) -> Rc<NameMatches> {
        if let Some(found) = self.found.borrow().get(&name) {
            return Rc::clone(found);
        }
        let found = Rc::new(self.search(self.trace.name(name)));
        self.found.borrow_mut().insert(name, Rc::clone(&found));
        found
    }

    fn search(&self, name: &str) -> NameMatches {
        let mut ids = self.program.lookup(name);
        if !is_mangled(name) && (is_readable(name) || !self.mangled) {
            ids.extend(self.readable().lookup(name));
            ids.sort_unstable();
            ids.dedup();
        }
        if !ids.is_empty() {
            return NameMatches { ids, without_suffix: false };
        }
        let only = self.program.lookup_without_suffix(name);
        NameMatches { without_suffix: only.is_some(), ids: only.into_iter().collect() }
    }

    fn readable(&self) -> &Readable {
        self.readable.get_or_init(|| Readable::of(self.program))
    }
}

impl Readable {
    fn of(program: &Program<'_>) -> Self {
        let mut readable = Readable::default();
        for (id, name) in program.names() {
            let Some(forms) = Forms::of_symbol(name) else { continue };
            for (map, form) in [
                (&mut readable.full, forms.full),
                (&mut readable.plain, forms.plain),
                (&mut readable.bare, forms.bare),
            ] {
                let ids: &mut Vec<FunctionId> = map.entry(form).or_default();
                // Constructors and destructors have several symbols each.
                if !ids.contains(&id) {
                    ids.push(id);
                }
            }
        }
        readable
    }

    /// The functions of the first form in which the name is known, from the one that says most.
    fn lookup(&self, name: &str) -> Vec<FunctionId> {
        if self.plain.is_empty() {
            return Vec::new();
        }
        let forms = Forms::of(name);
        let with_parameters = forms.full != forms.plain;
        let full = self.full.get(&forms.full).filter(|_| with_parameters);
        full.or_else(|| self.plain.get(&forms.plain))
            .or_else(|| self.bare.get(&forms.bare))
            .cloned()
            .unwrap_or_default()
    }
}
