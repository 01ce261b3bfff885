//! JSON of the models: keys in the order of the fields, lists of numbers on one line.

use crate::ReportError;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::ser::Formatter;
use std::io::{self, Write};

/// Writes `model` for people and for diffs, with a line feed at the end.
pub fn write<T: Serialize>(model: &T) -> String {
    let mut bytes = Vec::new();
    let mut serializer = serde_json::Serializer::with_formatter(&mut bytes, Layout::default());
    // The models hold numbers, strings, lists and maps keyed by strings: serialising them into
    // memory has no way to fail.
    if let Err(error) = model.serialize(&mut serializer) {
        unreachable!("a result model could not be written as JSON: {error}");
    }
    bytes.push(b'\n');
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Writes `model` on one line, safe inside an HTML `<script>` element.
pub fn write_embedded<T: Serialize>(model: &T) -> String {
    let text = serde_json::to_string(model)
        .unwrap_or_else(|error| unreachable!("a result model could not be written: {error}"));
    // `</script>` and `<!--` would end or change the element; inside JSON, `<` only ever occurs
    // in strings, where an escape says the same.
    text.replace('<', "\\u003c")
}

/// Reads a model of `schema` back. Unknown keys are ignored: later versions add keys.
///
/// # Errors
/// [`ReportError`], which says whether the text is no result, another one, or a damaged one.
pub fn read<T: DeserializeOwned>(text: &str, schema: &'static str) -> Result<T, ReportError> {
    #[derive(serde::Deserialize)]
    struct Head {
        schema: String,
    }
    let head: Head = serde_json::from_str(text)
        .map_err(|error| ReportError::NotResult { detail: error.to_string(), expected: schema })?;
    if head.schema != schema {
        return Err(ReportError::Schema { found: head.schema, expected: schema });
    }
    serde_json::from_str(text)
        .map_err(|error| ReportError::Field { schema, detail: error.to_string() })
}

/// Like serde_json's pretty printing, but a list of numbers or strings stays on one line: a page
/// map of 2,048 numbers would otherwise be 2,048 lines.
#[derive(Default)]
struct Layout {
    open: Vec<Level>,
}

/// One open object or list.
struct Level {
    list: bool,
    broken: bool,
}

impl Layout {
    fn break_line<W: ?Sized + Write>(&self, writer: &mut W) -> io::Result<()> {
        writer.write_all(b"\n")?;
        for _ in 0..self.open.len() {
            writer.write_all(b"  ")?;
        }
        Ok(())
    }

    fn end<W: ?Sized + Write>(&mut self, writer: &mut W, bracket: &[u8]) -> io::Result<()> {
        if self.open.pop().is_some_and(|level| level.broken) {
            self.break_line(writer)?;
        }
        writer.write_all(bracket)
    }
}

impl Formatter for Layout {
    fn begin_array<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.open.push(Level { list: true, broken: false });
        writer.write_all(b"[")
    }

    fn end_array<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.end(writer, b"]")
    }

    fn begin_array_value<W: ?Sized + Write>(
        &mut self,
        writer: &mut W,
        first: bool,
    ) -> io::Result<()> {
        let broken = self.open.last().is_some_and(|level| level.broken);
        match (first, broken) {
            (true, _) => Ok(()),
            (false, true) => writer.write_all(b","),
            (false, false) => writer.write_all(b", "),
        }
    }

    fn begin_object<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        if let Some(level) = self.open.last_mut().filter(|level| level.list) {
            level.broken = true;
            self.break_line(writer)?;
        }
        self.open.push(Level { list: false, broken: false });
        writer.write_all(b"{")
    }

    fn end_object<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.end(writer, b"}")
    }

    fn begin_object_key<W: ?Sized + Write>(
        &mut self,
        writer: &mut W,
        first: bool,
    ) -> io::Result<()> {
        if !first {
            writer.write_all(b",")?;
        }
        if let Some(level) = self.open.last_mut() {
            level.broken = true;
        }
        self.break_line(writer)
    }

    fn begin_object_value<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        writer.write_all(b": ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn lists_of_numbers_stay_on_one_line() {
        let value = json!({"a": [1, 2], "b": [{"c": 1}, {"c": [2]}], "d": {}, "e": []});
        let expected = r#"{
  "a": [1, 2],
  "b": [
    {
      "c": 1
    },
    {
      "c": [2]
    }
  ],
  "d": {},
  "e": []
}
"#;
        assert_eq!(write(&value), expected);
        assert_eq!(serde_json::from_str::<serde_json::Value>(&write(&value)).unwrap(), value);
    }

    #[test]
    fn embedded_text_cannot_close_its_element() {
        let text = write_embedded(&json!({"name": "</script><!--"}));
        assert!(!text.contains('<'), "{text}");
        let back: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(back["name"], "</script><!--");
    }
}
