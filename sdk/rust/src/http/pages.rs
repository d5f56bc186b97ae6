//! Answers that come in pages.

use serde::de::DeserializeOwned;

use super::{Request, Response, Url, send};
use crate::control;
use crate::error::{Error, ErrorKind, Result};

/// Finds the request for the next page from a page and its response; none after the last.
type Follow<T> = Box<dyn FnMut(&T, &Response) -> Result<Option<Next>>>;

/// How the next page is asked for; the rest of the request stays as it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Next {
    /// From this URL, whole or relative to the last one.
    Url(String),
    /// With this body, for pages that are asked for by POST.
    Body(Vec<u8>),
}

/// The pages of an answer as JSON, one after another; [`pages`] makes it.
pub struct Pages<T> {
    request: Request,
    follow: Follow<T>,
    is_over: bool,
    count: u64,
    /// One request is remembered, later and later ones: in a circle it comes again, however long the circle is.
    remembered: Option<(String, Vec<u8>)>,
    remember_at: u64,
}

/// The pages of an answer, one after another, each read as JSON into a type of yours. The header `Link` with
/// `rel="next"` says where the next one is; [`Pages::follow`] finds it in another way.
///
/// ```no_run
/// use mindhost_sdk::http::{self, Next, Request};
///
/// #[derive(serde::Deserialize)]
/// struct Orders {
///     orders: Vec<serde_json::Value>,
///     cursor: Option<String>,
/// }
///
/// # fn main() -> mindhost_sdk::Result<()> {
/// let request = Request::get("https://api.example.org/orders").retries(3);
/// let pages = http::pages::<Orders>(request).follow(|page, _| {
///     Ok(page.cursor.as_ref().map(|cursor| Next::Url(format!("?cursor={}", http::escaped(cursor)))))
/// });
/// for page in pages {
///     println!("{} orders", page?.orders.len());
/// }
/// # Ok(())
/// # }
/// ```
pub fn pages<T: DeserializeOwned>(request: Request) -> Pages<T> {
    Pages {
        request,
        follow: Box::new(|_, response| Ok(linked(response).map(Next::Url))),
        is_over: false,
        count: 0,
        remembered: None,
        remember_at: 1,
    }
}

impl<T: DeserializeOwned> Pages<T> {
    /// Finds the next page in a page or its headers; the body of the response was read. None ends the pages.
    #[must_use]
    pub fn follow(
        mut self,
        follow: impl FnMut(&T, &Response) -> Result<Option<Next>> + 'static,
    ) -> Self {
        self.follow = Box::new(follow);
        self
    }

    fn page(&mut self) -> Result<T> {
        control::check()?;
        let asked = (&self.request.url, &self.request.body);
        if self
            .remembered
            .as_ref()
            .is_some_and(|(url, body)| (url, body) == asked)
        {
            let message = "the pages of the answer go in a circle";
            return Err(Error::new(ErrorKind::Upstream, message));
        }
        self.count += 1;
        if self.count == self.remember_at {
            self.remembered = Some((self.request.url.clone(), self.request.body.clone()));
            self.remember_at *= 2;
        }
        let mut response = send(&self.request)?.success()?;
        let page = response.json()?;
        match (self.follow)(&page, &response)? {
            Some(Next::Url(url)) => self.request.url = Url::join(&self.request.url, &url)?,
            Some(Next::Body(body)) => self.request.body = body,
            None => self.is_over = true,
        }
        Ok(page)
    }
}

impl<T: DeserializeOwned> Iterator for Pages<T> {
    type Item = Result<T>;

    /// Asks for the next page. Nothing comes after an error.
    fn next(&mut self) -> Option<Result<T>> {
        if self.is_over {
            return None;
        }
        let page = self.page();
        self.is_over |= page.is_err();
        Some(page)
    }
}

/// The URL of the header `Link` with `rel="next"` (RFC 8288).
fn linked(response: &Response) -> Option<String> {
    let headers = response.headers.iter();
    let links = headers.filter(|(name, _)| name.eq_ignore_ascii_case("link"));
    links
        .flat_map(|(_, value)| value.split('<').skip(1))
        .find_map(|link| {
            let (url, about) = link.split_once('>')?;
            about.split(';').any(is_next).then(|| url.to_owned())
        })
}

/// Whether a parameter of a link is `rel=next`, alone or among others.
fn is_next(parameter: &str) -> bool {
    let Some((name, value)) = parameter.split_once('=') else {
        return false;
    };
    let value = value.trim().trim_end_matches(',').trim_end();
    name.trim().eq_ignore_ascii_case("rel")
        && value
            .trim_matches('"')
            .split_ascii_whitespace()
            .any(|relation| relation.eq_ignore_ascii_case("next"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn next_page_is_found_among_links() {
        let next =
            |value: &str| linked(&Response::scripted(200, Vec::new()).with_header("Link", value));
        let page = Some("/x?page=2".to_owned());
        assert_eq!(next("</x?page=2>; rel=\"next\""), page);
        assert_eq!(
            next("</y>; rel=\"last\", </x?page=2>; title=\"a;b\"; rel=\"prefetch next\""),
            page
        );
        assert_eq!(next("</x?page=2>; REL=Next, </y>; rel=first"), page);
        assert_eq!(next("</x?page=2>; rel=\"nextish\""), None);
        assert_eq!(next("/x?page=2; rel=next"), None);
    }
}
