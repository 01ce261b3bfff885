//! Writing Java class files: a constant pool, methods, and the frames that the verifier wants.
//!
//! All code that the translator makes has an empty operand stack wherever a jump leads, and gives
//! every local variable a value of one type at the method's start. So a frame is a number.
//!
//! Source: *The Java Virtual Machine Specification, Java SE 17 Edition*, chapter 4.

mod code;
mod pool;

pub(crate) use code::{Code, Kind, LONGEST, Label, op};
pub(crate) use pool::Pool;

/// `major_version` of Java 17.
const MAJOR: u16 = 61;

/// `ACC_PUBLIC | ACC_STATIC` and the like.
pub(crate) mod access {
    pub(crate) const PUBLIC: u16 = 1;
    pub(crate) const STATIC: u16 = 8;
    pub(crate) const FINAL: u16 = 16;
    pub(crate) const SUPER: u16 = 32;
}

/// A class with static methods, as it is put together.
pub(crate) struct Class {
    name: String,
    superclass: &'static str,
    pub(crate) pool: Pool,
    methods: Vec<u8>,
    count: u16,
    /// What its methods look up: of each static field, the string in the pool that its numbers are read from.
    tables: Vec<u16>,
    /// The file whose lines its methods have.
    pub(crate) source: Option<String>,
}

impl Class {
    /// A class of this internal name (`a/B`).
    pub(crate) fn new(name: &str, superclass: &'static str) -> Class {
        Class {
            name: name.to_owned(),
            superclass,
            pool: Pool::default(),
            methods: Vec::new(),
            count: 0,
            tables: Vec::new(),
            source: None,
        }
    }

    /// Its internal name.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Adds a method with this body.
    pub(crate) fn method(&mut self, flags: u16, name: &str, descriptor: &str, code: &Code) {
        let attribute = self.pool.utf8("Code");
        let frames = self.pool.utf8("StackMapTable");
        let (name, descriptor) = (self.pool.utf8(name), self.pool.utf8(descriptor));
        for part in [flags, name, descriptor, 1, attribute] {
            self.methods.extend(part.to_be_bytes());
        }
        let body = code.attribute(&mut self.pool, frames);
        self.methods.extend((body.len() as u32).to_be_bytes());
        self.methods.extend(body);
        self.count += 1;
    }

    /// A static field, an array of these numbers, of which there are at most [`MOST_IN_TABLE`]: its entry in the pool.
    pub(crate) fn table(&mut self, numbers: &[i32]) -> u16 {
        let text = numbers.iter().map(i32::to_string).collect::<Vec<_>>().join(" ");
        let text = self.pool.string(&text);
        let at = self.tables.iter().position(|known| *known == text).unwrap_or_else(|| {
            self.tables.push(text);
            self.tables.len() - 1
        });
        self.pool.field(&self.name, &table_name(at), TABLE)
    }

    /// Adds the class's initializer, which reads the tables from strings; gives the fields as the file has them.
    fn initializer(&mut self) -> Vec<u8> {
        let mut code = Code::new(Vec::new(), 0);
        let mut fields = Vec::new();
        for (at, text) in self.tables.iter().enumerate() {
            code.op_u16(op::LDC_W, *text, 1);
            let read = self.pool.method("trimtab/Jump", "table", "(Ljava/lang/String;)[I");
            code.op_u16(op::INVOKESTATIC, read, 0);
            let field = self.pool.field(&self.name, &table_name(at), TABLE);
            code.op_u16(op::PUTSTATIC, field, -1);
            let (name, kind) = (self.pool.utf8(&table_name(at)), self.pool.utf8(TABLE));
            // Without attributes.
            for part in [access::STATIC | access::FINAL, name, kind, 0] {
                fields.extend(part.to_be_bytes());
            }
        }
        if !self.tables.is_empty() {
            code.give_back(None);
            self.method(access::STATIC, "<clinit>", "()V", &code);
        }
        fields
    }

    /// Whether it has no more constants than a file can have.
    pub(crate) fn fits(&self) -> bool {
        self.pool.fits()
    }

    /// How full the pool is: entries that no further class may exceed.
    pub(crate) fn entries(&self) -> usize {
        self.pool.len()
    }

    /// The bytes of the file.
    pub(crate) fn finish(mut self) -> Vec<u8> {
        let fields = self.initializer();
        let this = self.pool.class(&self.name);
        let parent = self.pool.class(self.superclass);
        let source = self.source.take();
        let source = source.map(|name| (self.pool.utf8("SourceFile"), self.pool.utf8(&name)));
        let mut file = 0xcafe_babe_u32.to_be_bytes().to_vec();
        file.extend([0, 0]);
        file.extend(MAJOR.to_be_bytes());
        file.extend(self.pool.finish());
        let flags = access::PUBLIC | access::FINAL | access::SUPER;
        // No interfaces.
        for part in [flags, this, parent, 0, self.tables.len() as u16] {
            file.extend(part.to_be_bytes());
        }
        file.extend(fields);
        file.extend(self.count.to_be_bytes());
        file.extend(self.methods);
        file.extend(u16::from(source.is_some()).to_be_bytes());
        if let Some((attribute, name)) = source {
            file.extend(attribute.to_be_bytes());
            file.extend(2_u32.to_be_bytes());
            file.extend(name.to_be_bytes());
        }
        file
    }
}

/// As many numbers fit into a string of the pool, with a blank between each two.
pub(crate) const MOST_IN_TABLE: usize = 65_535 / 12;

/// The descriptor of a field with numbers.
const TABLE: &str = "[I";

fn table_name(number: usize) -> String {
    format!("table{number}")
}
