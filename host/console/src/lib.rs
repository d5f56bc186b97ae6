//! The console in the browser, as files inside the server. It knows no HTTP, and it builds nothing: `npm run build` in
//! this folder does. Without that build there is one page, which says what to do.

/// A file of the console, in three encodings.
#[derive(Clone, Copy, Debug)]
pub struct File {
    /// Below `/console`, without a slash before it: `assets/index-4f2a.js`.
    pub path: &'static str,
    /// Hexadecimal; changes with the content.
    pub hash: &'static str,
    /// The bytes without compression.
    pub plain: &'static [u8],
    /// Compressed with gzip; empty where it was not compressed.
    pub gzip: &'static [u8],
    /// Compressed with Brotli; empty where it was not compressed.
    pub brotli: &'static [u8],
}

static FILES: &[File] = &include!(concat!(env!("OUT_DIR"), "/files.rs"));

/// The page of a server that was built without the console.
static NOT_BUILT: File = File {
    path: "index.html",
    hash: "not-built",
    plain: include_bytes!("not_built.html"),
    gzip: &[],
    brotli: &[],
};

/// The file with this path.
pub fn file(path: &str) -> Option<&'static File> {
    FILES.iter().find(|file| file.path == path)
}

/// The page that every address of the console shows.
pub fn index() -> &'static File {
    file(NOT_BUILT.path).unwrap_or(&NOT_BUILT)
}

impl File {
    /// Its media type, by the end of its name.
    pub fn media_type(&self) -> &'static str {
        match self.path.rsplit('.').next() {
            Some("html") => "text/html; charset=utf-8",
            Some("js") => "text/javascript; charset=utf-8",
            Some("css") => "text/css; charset=utf-8",
            Some("svg") => "image/svg+xml",
            _ => "application/octet-stream",
        }
    }

    /// Whether its name changes with its content, so that it can be cached without limit.
    pub fn is_immutable(&self) -> bool {
        self.path.starts_with("assets/")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn page_of_a_server_without_the_console_says_what_to_do() {
        let page = std::str::from_utf8(NOT_BUILT.plain).unwrap();
        assert!(
            page.contains("just build") && page.contains("/docs"),
            "{page}"
        );
        assert!(
            !page.contains("<script") && !page.contains("style="),
            "{page}"
        );
    }

    #[test]
    fn every_address_has_the_index_and_unknown_files_are_none() {
        assert_eq!(index().media_type(), "text/html; charset=utf-8");
        assert!(!index().is_immutable());
        assert!(file("assets/../Cargo.toml").is_none());
    }
}
