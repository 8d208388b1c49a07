"""The lab's page: ES modules, styles and what they are built on, as they are served; nothing here is compiled."""
